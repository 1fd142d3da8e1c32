// Requests that a server sends to its client, which only the legacy era has. `ping` is answered by
// the connection itself; whom everything else is for is not known here. The answers are written
// around the server's own id, byte for byte, and around results that are carried as they came.

import { rpcCodes } from '../wire/eras.ts';
import type { Message } from '../wire/scan.ts';

export function pingAnswer(message: Message): string {
  return `{"jsonrpc":"2.0","id":${idText(message)},"result":{}}`;
}

/** The client's result, as it came, on one line. */
export function resultAnswer(message: Message, result: string | Buffer): Buffer {
  return around(`{"jsonrpc":"2.0","id":${idText(message)},"result":`, result);
}

/** The client's error, as it came, on one line. */
export function errorAnswer(message: Message, error: string | Buffer): Buffer {
  return around(`{"jsonrpc":"2.0","id":${idText(message)},"error":`, error);
}

/** As the capabilities we declare have promised. */
export function refusedAnswer(message: Message, why: string): Buffer {
  const error = { code: rpcCodes.methodNotFound, message: why };
  return errorAnswer(message, JSON.stringify(error));
}

/** The question cannot be carried because of an error of our own. */
export function internalAnswer(message: Message): Buffer {
  const error = { code: rpcCodes.internalError, message: 'Internal error' };
  return errorAnswer(message, JSON.stringify(error));
}

function around(head: string, carried: string | Buffer): Buffer {
  return Buffer.concat([Buffer.from(head), Buffer.from(carried), Buffer.from('}')]);
}

function idText(message: Message): string {
  const { bytes, idSpan } = message;
  return idSpan ? bytes.toString('utf8', idSpan.start, idSpan.end) : 'null';
}
