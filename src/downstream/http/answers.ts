// Responses that are sent in one piece: a message as JSON, a refusal, an answer of the front
// itself. Head and body are sent together, with an exact length. JSON-RPC errors are in the body;
// HTTP has its own status for a few of them.

import type { ServerResponse } from 'node:http';
import type { Id } from '../../wire/decode.ts';
import { rpcCodes } from '../../wire/eras.ts';
import { type ErrorToSend, errorFrame, type Frame, textOfId } from '../../wire/frames.ts';
import { joinPieces } from '../../wire/pieces.ts';
import type { WireError } from '../../wire/wire-error.ts';
import type { Waiter } from '../outgoing/outgoing-budget.ts';
import { byteLength, endWithFrame, smallBytes } from './frame-bytes.ts';
import type { Edge } from './http-context.ts';

/** Names and values in turn, as Node takes them without looking each up. */
export type HeaderList = readonly string[];

/** The status of a modern answer whose error has this code. */
export function statusOf(code: number | undefined): number {
  switch (code) {
    case undefined:
      return 200;
    case rpcCodes.methodNotFound:
      return 404;
    case rpcCodes.parseError:
    case rpcCodes.invalidRequest:
    case rpcCodes.headerMismatch:
    case rpcCodes.missingClientCapability:
    case rpcCodes.unsupportedProtocolVersion:
      return 400;
    default:
      return 200;
  }
}

/** A message as the whole response. A client that stops reading it is disconnected. */
export function answerJson(
  res: ServerResponse,
  status: number,
  frame: Frame,
  { limits, outgoing }: Edge,
  more: HeaderList = [],
): void {
  const bytes = byteLength(frame);
  res.writeHead(status, headOf(bytes, more));
  endWithFrame(res, frame, bytes);
  if (res.writableLength === 0) return;
  // Node checks by itself whether a slow write makes progress, and removes the timer after it.
  if (bytes > smallBytes) res.socket?.setTimeout(limits.stallMs);
  const share = outgoing.share(new UnreadResponse(res));
  res.on('close', () => share.end());
  share.wrote(bytes);
}

/** A response that was written as a whole and not taken at once. */
class UnreadResponse implements Waiter {
  readonly #res: ServerResponse;

  constructor(res: ServerResponse) {
    this.#res = res;
  }

  get waitingBytes(): number {
    return this.#res.writableLength;
  }

  giveUp(): void {
    this.#res.destroy();
  }
}

/** A refusal with its status; `id` is the request's, where it could be read. */
export function refuseRpc(
  res: ServerResponse,
  status: number,
  error: ErrorToSend,
  id: Id | null | undefined = null,
  more: HeaderList = [],
): void {
  const body = joinPieces([...errorFrame(textOfId(id ?? null), error), '\n']);
  res.writeHead(status, headOf(body.length, more));
  endWhenHeard(res, body);
}

/** A refusal that is HTTP's own. */
export function refuseHttp(
  res: ServerResponse,
  status: number,
  message: string,
  more: HeaderList = [],
): void {
  refuseRpc(res, status, { code: rpcCodes.refusedByHttp, message }, null, more);
}

/** The refusal of a body that the scanner did not take. */
export function refuseWire(
  res: ServerResponse,
  { rpcCode, message }: WireError,
  id: Id | null | undefined,
): void {
  refuseRpc(res, 400, { code: rpcCode, message }, id);
}

/** For a request that may be sent again soon. */
export const retryLater: HeaderList = ['Retry-After', '5'];

/** What it is for may be at another replica, which cannot be reached now; nothing was done. */
export function refuseUnreached(res: ServerResponse): void {
  const words =
    'Service Unavailable: the replica that has what this request is for cannot be reached now; try again';
  refuseHttp(res, 503, words, retryLater);
}

/** A plain object, for addresses without MCP. */
export function answerPlainly(
  res: ServerResponse,
  status: number,
  value: Readonly<Record<string, unknown>>,
  more: HeaderList = [],
): void {
  const body = `${JSON.stringify(value)}\n`;
  res.writeHead(status, headOf(Buffer.byteLength(body), more));
  endWhenHeard(res, body);
}

/**
 * A client that is still sending loses a response that is followed by the end of the connection:
 * the unread bytes reset it (RFC 9112, 9.6). So the end comes when everything has been received.
 */
function endWhenHeard(res: ServerResponse, body: string | Buffer): void {
  const { req } = res;
  if (res.shouldKeepAlive || req.complete) {
    res.end(body);
    return;
  }
  res.write(body);
  const end = () => void res.end();
  req.once('end', end).once('close', end).resume();
}

/** Accepted, without a body. */
export function accept(res: ServerResponse): void {
  res.writeHead(202, acceptedHead);
  res.end();
}

const acceptedHead = ['Content-Length', '0'];

function headOf(bytes: number, more: HeaderList): string[] {
  const head = ['Content-Type', 'application/json', 'Content-Length', String(bytes)];
  return more.length === 0 ? head : [...head, ...more];
}
