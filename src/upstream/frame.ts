// Writing requests and notifications around parameters that are already JSON text. Nothing that is
// carried is parsed or spelled anew; only the envelope is ours. What is carried as bytes is not copied
// here either: a frame is a list of pieces until it is written.

import { joinPieces, type Piece, pushLine } from '../wire/pieces.ts';
import type { Carried, Params } from './connection.ts';

/** A frame before it is written: text, or pieces of text and bytes in their order. */
export type OutgoingFrame = string | readonly Piece[];

/** A request, without a line end. `envelope` holds the members of `_meta` that we add. */
export function requestText(
  id: number,
  method: string,
  params: Params,
  envelope: string,
): OutgoingFrame {
  return around(`{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}`, params, envelope);
}

/** A notification, without a line end. */
export function notificationText(method: string, params: Params, envelope: string): OutgoingFrame {
  return around(`{"jsonrpc":"2.0","method":${JSON.stringify(method)}`, params, envelope);
}

/** Our own token for a request's progress is its id: one number to match, one place to look. */
export function withProgress(envelope: string, id: number): string {
  const token = `"progressToken":${id}`;
  return envelope === '' ? token : `${envelope},${token}`;
}

function around(head: string, { members, meta = '' }: Params, envelope: string): OutgoingFrame {
  const opening = `${head},"params":{`;
  const hasMeta = meta.length > 0;
  if (!hasMeta && envelope === '') return join(opening, members, '}}');
  const comma = isEmpty(members) ? '' : ',';
  const between = hasMeta && envelope !== '' ? ',' : '';
  const middle = `${comma}"_meta":{${envelope}${between}`;
  if (typeof meta === 'string') return join(opening, members, `${middle}${meta}}}}`);
  return [...piecesOf(join(opening, members, middle)), meta, '}}}'];
}

function join(before: string, carried: Carried, after: string): OutgoingFrame {
  if (typeof carried === 'string') return before + carried + after;
  if (Buffer.isBuffer(carried)) return [before, carried, after];
  // Each piece costs a copy of its own: text that follows text is one.
  const pieces = [before, ...carried, after];
  if (typeof carried[0] === 'string') pieces.splice(0, 2, before + carried[0]);
  return pieces;
}

function isEmpty(carried: Carried): boolean {
  return carried.length === 0;
}

function piecesOf(frame: OutgoingFrame): readonly Piece[] {
  return typeof frame === 'string' ? [frame] : frame;
}

/** The same frame as one line of a stream. */
export function asLine(frame: OutgoingFrame | Buffer): OutgoingFrame {
  if (typeof frame === 'string') return `${frame}\n`;
  if (Buffer.isBuffer(frame)) return [frame, '\n'];
  const line: Piece[] = [];
  pushLine(line, frame);
  return line;
}

/** In one piece. */
export function joined(frame: OutgoingFrame): string | Buffer {
  if (typeof frame === 'string') return frame;
  return joinPieces(frame);
}
