// Requests that a server sends to its client, which only the legacy era has. `ping` is answered by
// the connection itself; whom everything else is for is not known here. The answers are written
// around the server's own id, byte for byte, and around results that are carried as they came.

import { rpcCodes } from '../wire/eras.ts';
import { carriedErrorFrame, errorFrame, idText, resultFrame } from '../wire/frames.ts';
import { joinPieces, type Piece } from '../wire/pieces.ts';
import type { Message } from '../wire/scan.ts';

export function pingAnswer(message: Message): string {
  return resultFrame(idText(message), '{}').join('');
}

/** The client's result, as it came, on one line. */
export function resultAnswer(message: Message, result: Piece): Buffer {
  return joinPieces(resultFrame(idText(message), result));
}

/** The client's error, as it came, on one line. */
export function errorAnswer(message: Message, error: Piece): Buffer {
  return joinPieces(carriedErrorFrame(idText(message), error));
}

/** As the capabilities we declare have promised. */
export function refusedAnswer(message: Message, why: string): Buffer {
  const error = { code: rpcCodes.methodNotFound, message: why };
  return joinPieces(errorFrame(idText(message), error));
}

/** The question cannot be carried because of an error of our own. */
export function internalAnswer(message: Message): Buffer {
  const error = { code: rpcCodes.internalError, message: 'Internal error' };
  return joinPieces(errorFrame(idText(message), error));
}
