// Keeps what a client says when it cancels a request (`reason`, and members that no revision knows)
// for the server that works on the request. It is written when the server is notified, and only if
// it is.

import { ClientCancel } from '../wire/client-cancel.ts';
import type { Message } from '../wire/scan.ts';
import { relayedParams } from './relay/relayed-params.ts';

/** Parameters that are longer are not forwarded: only the id is. */
export const maxCancelBytes = 4_096;

/** `message` is the client's notification. Undefined if there is nothing to forward but the id. */
export function clientCancel(message: Message): ClientCancel | undefined {
  const { params } = message;
  if (params === undefined || params.end - params.start > maxCancelBytes) return undefined;
  return new ClientCancel((id) => relayedParams(message, { requestId: String(id) }));
}
