// The last answer to a request whose principal has lost its access, because its token was revoked or has expired:
// a JSON-RPC error in place of what its server may still say, with the code of the refusal that its next request
// gets. It has no fault record, because how far the request came is not known at that moment; only the words tell,
// and they say that it was not sent only if that is certain.

import { rpcCodes } from '../wire/eras.ts';
import type { Incoming } from './incoming.ts';

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
  const { isCarried, message } = incoming;
  const then = !isCarried && relayed.has(message.method) ? unsent : mayHaveRun;
  try {
    incoming.error({
      code: rpcCodes.refusedByHttp,
      message: `Unauthorized: the access of this credential has ended; ${then}`,
    });
  } finally {
    incoming.cancelSignal.abort();
  }
}

const unsent = 'the request was not sent to its server';
const mayHaveRun = 'the request was cancelled, and may have run: check its effect';
