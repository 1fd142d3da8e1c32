// Requests that a server sends to its client, which only the legacy era has. The connection answers
// `ping` itself; other code decides which client any other request is for. Answers contain the
// server's own id, byte for byte, and results unchanged.

import { rpcCodes } from '../wire/eras.ts';
import { carriedErrorFrame, errorFrame, idText, resultFrame } from '../wire/frames.ts';
import { joinPieces, type Piece } from '../wire/pieces.ts';
import type { Message } from '../wire/scan.ts';
import type { WireError } from '../wire/wire-error.ts';

export function pingAnswer(message: Message): string {
  return resultFrame(idText(message), '{}').join('');
}

/** The client's result, unchanged, on one line. */
export function resultAnswer(message: Message, result: Piece): Buffer {
  return joinPieces(resultFrame(idText(message), result));
}

/** The client's error, unchanged, on one line. */
export function errorAnswer(message: Message, error: Piece): Buffer {
  return joinPieces(carriedErrorFrame(idText(message), error));
}

/** According to the capabilities that we declare. */
export function refusedAnswer(message: Message, why: string): Buffer {
  const error = { code: rpcCodes.methodNotFound, message: why };
  return joinPieces(errorFrame(idText(message), error));
}

/** A part of the request cannot be read in only one way. */
export function invalidAnswer(message: Message, { message: why }: WireError): Buffer {
  const error = { code: rpcCodes.invalidParams, message: `Invalid params: ${why}` };
  return joinPieces(errorFrame(idText(message), error));
}

/** The request cannot be forwarded because of an internal error. */
export function internalAnswer(message: Message): Buffer {
  const error = { code: rpcCodes.internalError, message: 'Internal error' };
  return joinPieces(errorFrame(idText(message), error));
}
