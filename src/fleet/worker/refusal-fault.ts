// What the client of a worker is told when its broker has refused something, or could not be reached: which fault it
// is, and whether it is of use to try the same again. Where somebody has to change something first, it is not.

import type { BrokerError, BrokerRefusal } from '../../broker/broker-error.ts';
import { Fault, type FaultCode, type FaultFacts } from '../../kernel/fault.ts';

const codes: Readonly<Record<BrokerRefusal, FaultCode>> = {
  unauthorized: 'auth_required',
  not_allowed: 'denied',
  not_a_broker: 'unavailable',
  unsupported: 'unavailable',
  replaced: 'unavailable',
  other_store: 'unavailable',
  bad_letter: 'invalid_request',
  too_large: 'invalid_request',
  full: 'overloaded',
  absent: 'unavailable',
  not_kept: 'unavailable',
  lost: 'unavailable',
  closed: 'unavailable',
};

/** What the message of the broker does not say. */
const nextSteps: Partial<Record<BrokerRefusal, string>> = {
  not_allowed:
    '; check the name: a credential is made for the orchestrators that it names (where the broker runs: holdfast token add --worker NAME --role ROLE --to ORCHESTRATOR)',
};

/** `facts.dispatched`: whether the orchestrator may have the request. */
export function refusalFault(
  { reason, isPermanent, message }: BrokerError,
  facts: FaultFacts & { readonly server: string },
): Fault {
  const { server, dispatched = 'no' } = facts;
  const code = codes[reason];
  // That an unavailable server may have run a call is said where it is decided what follows from it.
  const isSaid = dispatched === 'no' || code === 'unavailable';
  const outcome = isSaid ? '' : '; it may have run: check its effect before you send it again';
  const detail = `${server} cannot be reached: ${message}${nextSteps[reason] ?? ''}${outcome}`;
  return new Fault(code, detail, { ...facts, ...(isPermanent ? { retryable: false } : {}) });
}
