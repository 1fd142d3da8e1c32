// The last answer to a request whose principal has lost its access, because its token was revoked or has expired:
// a JSON-RPC error in place of what its server may still say. It never claims that the request was not sent unless
// that is certain.

import { Fault, OwnTrouble } from '../kernel/fault.ts';
import type { Incoming } from './incoming.ts';
import { faultError } from './refusals.ts';

/** Those that leave us by the relay and in no other way. */
const relayed: ReadonlySet<string | undefined> = new Set([
  'tools/call',
  'prompts/get',
  'resources/read',
  'completion/complete',
]);

/** Answers the request, and cancels it at its server. */
export function endAccess(incoming: Incoming): void {
  if (incoming.isOver) return;
  incoming.error(faultError(accessEnded(incoming), incoming.principal));
  incoming.cancelSignal.abort();
}

function accessEnded({ isCarried, message }: Incoming): Fault {
  const isUnsent = !isCarried && relayed.has(message.method);
  const then = isUnsent
    ? 'the request was not sent to its server'
    : 'the request was cancelled, and may have run; check its effect';
  const detail = `Unauthorized: the access of this credential has ended; ${then}`;
  const dispatched = isUnsent ? 'no' : 'maybe';
  return new Fault('denied', detail, { dispatched }, new OwnTrouble(detail));
}
