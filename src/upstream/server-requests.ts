// Requests that a server sends to its client. Until a downstream client stands behind the host,
// only `ping` has an answer; everything else is refused with method-not-found, as the capabilities
// we declare have promised. A request is told from a response by its shape, never by its id.

import { rpcCodes } from '../wire/eras.ts';
import type { Message } from '../wire/scan.ts';

/** The answer to a server's request, as one message without a line end. */
export function answerTo(message: Message): string {
  const id = message.idSpan
    ? message.bytes.toString('utf8', message.idSpan.start, message.idSpan.end)
    : 'null';
  if (message.method === 'ping') return `{"jsonrpc":"2.0","id":${id},"result":{}}`;
  const error = { code: rpcCodes.methodNotFound, message: 'the client offers no such method' };
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(error)}}`;
}
