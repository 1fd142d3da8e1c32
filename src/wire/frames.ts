// Builds the JSON-RPC messages that Holdfast sends to servers and clients. Their content (params, a
// result, an error, the other side's id) is JSON text that was validated before; it is inserted
// unchanged and must be on one line (`oneLine`). Only the envelope is built here. Forwarded bytes
// are not copied: a frame is a list of pieces until it is written.

import type { Id } from './decode.ts';
import { joinPieces, type Piece, pushLine } from './pieces.ts';
import { type Message, scanMessage } from './scan.ts';
import { oneLine } from './splice.ts';

/** An outgoing message: JSON text on one line, in pieces that are written one after another. */
export type Frame = readonly Piece[];

/**
 * A frame to a server. A frame that is only text stays one string: a list would be one more object
 * for each call.
 */
export type TextOrFrame = string | Frame;

// --- answers -------------------------------------------------------------------------------

/** The id of a request as its sender wrote it, for everything that answers it. */
export function idText({ bytes, idSpan }: Message): string {
  return idSpan ? bytes.toString('utf8', idSpan.start, idSpan.end) : 'null';
}

/** An id that was decoded, as JSON text. */
export function textOfId(id: Id | null): string {
  return JSON.stringify(id);
}

export function resultFrame(id: string, ...result: Piece[]): Frame {
  return [`{"jsonrpc":"2.0","id":${id},"result":`, ...result, '}'];
}

/** The error object as it came. */
export function carriedErrorFrame(id: string, error: Piece): Frame {
  return [`{"jsonrpc":"2.0","id":${id},"error":`, error, '}'];
}

export interface ErrorToSend {
  readonly code: number;
  readonly message: string;
  /** JSON text. */
  readonly data?: string;
}

export function errorFrame(id: string, { code, message, data }: ErrorToSend): Frame {
  const head = `{"code":${code},"message":${JSON.stringify(message)}`;
  return carriedErrorFrame(id, data === undefined ? `${head}}` : `${head},"data":${data}}`);
}

// --- requests and notifications ------------------------------------------------------------

/** `params` is a whole object. */
export function requestFrame(id: number, method: string, params: Piece): Frame {
  return [`${requestHead(id, method)},"params":`, params, '}'];
}

/** `params`, if there are any, is a whole object. */
export function notificationFrame(method: string, params?: Piece): Frame {
  const head = notificationHead(method);
  return params === undefined ? [`${head}}`] : [`${head},"params":`, params, '}'];
}

/** JSON text that is forwarded: text, bytes, or several pieces of either. */
export type Carried = string | Buffer | readonly Piece[];

/**
 * The parameters of a request as JSON text, inserted into the frame unchanged: the members without
 * the braces, and those of `_meta` separately, because the connection adds its own to them.
 */
export interface Params {
  readonly members: Carried;
  readonly meta?: string | Buffer;
}

export const noParams: Params = { members: '' };

/** A request to a server. `envelope` holds the members of `_meta` that we add. */
export function requestToServer(
  id: number,
  method: string,
  params: Params,
  envelope: string,
): TextOrFrame {
  return around(requestHead(id, method), params, envelope);
}

/** A notification to a server. */
export function notificationToServer(method: string, params: Params): TextOrFrame {
  return around(notificationHead(method), params, '');
}

/** Our own token for a request's progress is its id, so there is one number to match. */
export function withProgress(envelope: string, id: number): string {
  const token = `"progressToken":${id}`;
  return envelope === '' ? token : `${envelope},${token}`;
}

function requestHead(id: number, method: string): string {
  return `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}`;
}

function notificationHead(method: string): string {
  return `{"jsonrpc":"2.0","method":${JSON.stringify(method)}`;
}

function around(head: string, { members, meta = '' }: Params, envelope: string): TextOrFrame {
  const opening = `${head},"params":{`;
  const hasMeta = meta.length > 0;
  if (!hasMeta && envelope === '') return join(opening, members, '}}');
  const comma = members.length === 0 ? '' : ',';
  const between = hasMeta && envelope !== '' ? ',' : '';
  const middle = `${comma}"_meta":{${envelope}${between}`;
  if (typeof meta === 'string') return join(opening, members, `${middle}${meta}}}}`);
  return [...piecesOf(join(opening, members, middle)), meta, '}}}'];
}

function join(before: string, carried: Carried, after: string): TextOrFrame {
  if (typeof carried === 'string') return before + carried + after;
  if (Buffer.isBuffer(carried)) return [before, carried, after];
  // Each piece costs a copy, so adjacent text is joined.
  const pieces = [before, ...carried, after];
  if (typeof carried[0] === 'string') pieces.splice(0, 2, before + carried[0]);
  return pieces;
}

function piecesOf(frame: TextOrFrame): Frame {
  return typeof frame === 'string' ? [frame] : frame;
}

// --- whole frames --------------------------------------------------------------------------

/** A message of a server, as it came, on one line. */
export function carriedFrame(message: Message): Frame {
  return [oneLine(message.bytes)];
}

/** A result or an error from elsewhere as an answer without an id: for code that reads answers. */
export function answerWith(member: 'result' | 'error', json: Piece): Message {
  const frame = member === 'result' ? resultFrame('0', json) : carriedErrorFrame('0', json);
  return scanMessage(joinPieces(frame));
}

/** The same frame as one line of a stream. */
export function asLine(frame: TextOrFrame | Buffer): TextOrFrame {
  if (typeof frame === 'string') return `${frame}\n`;
  if (Buffer.isBuffer(frame)) return [frame, '\n'];
  const line: Piece[] = [];
  pushLine(line, frame);
  return line;
}

/** In one piece. */
export function joined(frame: TextOrFrame): string | Buffer {
  if (typeof frame === 'string') return frame;
  return joinPieces(frame);
}
