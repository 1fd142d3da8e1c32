// A frame as bytes for a socket. Small ones are joined, because one write is cheaper than several;
// large pieces are never copied.

import type { Frame } from '../contract.ts';

/** Up to here a copy costs less than a piece of its own in the write. */
const smallBytes = 65_536;

export function byteLength(frame: Frame): number {
  let bytes = 0;
  for (const piece of frame) bytes += lengthOf(piece);
  return bytes;
}

/** The frame in as few pieces as is cheap. */
export function inFewPieces(frame: Frame, bytes: number): Frame {
  if (frame.length < 2 || bytes > smallBytes) return frame;
  return [joined(frame, Buffer.allocUnsafe(bytes))];
}

/**
 * The frame for keeping: a small piece of a large buffer would hold on to all of it, so what is
 * small is copied into memory of its own.
 */
export function ownCopy(frame: Frame, bytes: number): Frame {
  return bytes > smallBytes ? frame : [joined(frame, Buffer.allocUnsafeSlow(bytes))];
}

function joined(frame: Frame, out: Buffer): Buffer {
  let at = 0;
  for (const piece of frame) {
    at += typeof piece === 'string' ? out.write(piece, at) : piece.copy(out, at);
  }
  return out;
}

function lengthOf(piece: string | Buffer): number {
  return typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length;
}
