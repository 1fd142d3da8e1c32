// Whether the caller may make this call: decided when it begins, and again after everything that it has waited
// for. That is right before it is sent, and before it gets what was not sent for it (an answer that is kept with
// its idempotency key, that of an equal call, one of the cache). Roles are asked again only if they were
// replaced; a guard can change its mind at any time. The answer to a call that was sent while it was allowed
// is given to its caller.

import { Fault } from '../../kernel/fault.ts';
import type { AccessRequest } from '../../policy/access.ts';
import { accessOf } from '../../policy/method-access.ts';
import type { Call, CallParts, CallRequest } from './call-parts.ts';

type DecisionParts = Pick<CallParts, 'access'>;

/** Throws `denied`. */
export function decide({ access }: DecisionParts, call: Call): void {
  const { request } = call;
  access.authorize(request.principal, accessRequestOf(request));
  call.decidedBy = access.version;
}

/** After a wait. Throws `denied`. */
export function decideAgain(parts: DecisionParts, call: Call): void {
  const { version, guard } = parts.access;
  if (guard !== null || version !== call.decidedBy) decide(parts, call);
}

/** Before an answer is given out. `dispatched` is that of what was executed, perhaps for another call. */
export function decideOnAnswer(
  parts: DecisionParts,
  call: Call,
  dispatched: Fault['dispatched'],
): void {
  // Sent for this call, while it was allowed.
  if (call.attempts > 0) return;
  try {
    decideAgain(parts, call);
  } catch (thrown) {
    throw thrown instanceof Fault ? thrown.with({ dispatched }) : thrown;
  }
}

/** How it ended, as its caller may know it: a fault that was not its own may be kept with its key, too. */
export function faultToTell(parts: DecisionParts, call: Call, fault: Fault): Fault {
  if (fault.code === 'denied' || call.decidedBy === undefined) return fault;
  try {
    decideOnAnswer(parts, call, fault.dispatched);
    return fault;
  } catch (thrown) {
    return thrown instanceof Fault ? thrown : fault;
  }
}

/** What the guard decides about: the tool, prompt or resource itself, or else the method. */
export function accessRequestOf({
  server,
  operation,
  about,
}: Pick<CallRequest, 'server' | 'operation' | 'about'>): AccessRequest {
  const { method } = operation;
  const { action } = accessOf(method);
  const { kind, name } = about ?? operation;
  return { action, server, kind, name: kind === 'other' ? (name ?? method) : name, method };
}
