// A frame as bytes for a socket. Small ones become one text in which every character is a byte:
// Node joins it with the head of the response and writes both at once, which costs less than a
// buffer of its own or a write per piece. Large pieces are never copied.

import type { ServerResponse } from 'node:http';
import type { Frame } from '../../wire/frames.ts';
import { byteLengthOf } from '../../wire/pieces.ts';

/** Up to here a copy costs less than a piece of its own in the write. */
export const smallBytes = 65_536;

export function byteLength(frame: Frame): number {
  let bytes = 0;
  for (const piece of frame) bytes += byteLengthOf(piece);
  return bytes;
}

/** Writes a frame that has this many bytes. False if the client does not keep up: wait for `drain`. */
export function writeFrame(res: ServerResponse, frame: Frame, bytes: number): boolean {
  const [first] = frame;
  if (frame.length === 1) return res.write(first);
  if (bytes <= smallBytes) return res.write(byteText(frame), 'latin1');
  let isTaken = true;
  res.cork();
  for (const piece of frame) isTaken = res.write(piece);
  res.uncork();
  return isTaken;
}

/** The same, and nothing after it. */
export function endWithFrame(res: ServerResponse, frame: Frame, bytes: number): void {
  const [first] = frame;
  if (frame.length === 1) {
    res.end(first);
  } else if (bytes <= smallBytes) {
    res.end(byteText(frame), 'latin1');
  } else {
    res.cork();
    for (const piece of frame) res.write(piece);
    res.end();
  }
}

/** The UTF-8 of a frame, as text of which each character is one byte of it. */
export function byteText(frame: Frame): string {
  let text = '';
  for (const piece of frame) {
    if (typeof piece !== 'string') text += piece.toString('latin1');
    else if (Buffer.byteLength(piece) === piece.length) text += piece;
    else text += Buffer.from(piece).toString('latin1');
  }
  return text;
}

/**
 * The frame for keeping: a small piece of a large buffer would hold on to all of it, so what is
 * small is copied. As text if it is ASCII: a small buffer takes 300 bytes beside its content. Text
 * holds on to nothing, and may be shared by many.
 */
export function ownCopy(frame: Frame, bytes: number): Frame {
  if (bytes > smallBytes || frame.every((piece) => typeof piece === 'string')) return frame;
  const text = byteText(frame);
  return [Buffer.byteLength(text) === bytes ? text : Buffer.from(text, 'latin1')];
}

/** Messages as one batch. */
export function listOf(frames: readonly Frame[]): Frame {
  const pieces: (string | Buffer)[] = [];
  for (const frame of frames) {
    pieces.push(pieces.length === 0 ? '[' : ',');
    for (const piece of frame) pieces.push(piece);
  }
  pieces.push(']');
  return pieces;
}
