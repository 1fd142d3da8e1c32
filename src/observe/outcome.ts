// How a request ended, in the three categories of telemetry. A response error is an answer: the
// server's own error, or our refusal of an invalid request. A transport fault is a missing answer.
// One table has the category of each fault code, so that a new code cannot be forgotten. A request
// that its client cancelled is neither.

import type { FaultCode } from '../kernel/fault.ts';

export type Outcome = 'ok' | 'response_error' | 'transport_fault' | 'cancelled';

const outcomes: Readonly<Record<FaultCode, Exclude<Outcome, 'ok'>>> = {
  not_found: 'response_error',
  invalid_request: 'response_error',
  denied: 'response_error',
  budget_exceeded: 'response_error',
  conflict: 'response_error',
  rpc_error: 'response_error',
  quarantined: 'response_error',
  auth_required: 'response_error',
  unavailable: 'transport_fault',
  start_timeout: 'transport_fault',
  circuit_open: 'transport_fault',
  ejected: 'transport_fault',
  overloaded: 'transport_fault',
  draining: 'transport_fault',
  timeout: 'transport_fault',
  outcome_unknown: 'transport_fault',
  frame_too_large: 'transport_fault',
  protocol_violation: 'transport_fault',
  internal: 'transport_fault',
  cancelled: 'cancelled',
};

export function outcomeOf(code: FaultCode): Exclude<Outcome, 'ok'> {
  return outcomes[code];
}

/** Refusals that only follow from an earlier fault. */
const echoes: ReadonlySet<FaultCode> = new Set(['circuit_open', 'ejected', 'draining']);

/**
 * Whether this fault says something new about the health of the host. A refusal that follows from
 * an earlier fault must not replace it.
 */
export function isTelling(code: FaultCode): boolean {
  return outcomes[code] === 'transport_fault' && !echoes.has(code);
}
