// How a request ended, in the three words of telemetry. A response error is an answer: the server's
// own error, or our refusal of a request for what it is. A transport fault is the lack of one: it
// should have been answered and was not. Which code is which stands in one table, so that a new
// code cannot be left without a word. A request that its own client called off is neither.

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

/** Does this fault say something new about our health? An echo must not take its cause's place. */
export function isTelling(code: FaultCode): boolean {
  return outcomes[code] === 'transport_fault' && !echoes.has(code);
}
