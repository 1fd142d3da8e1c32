// What a frame carries, in one piece, for tests that read it.

import type { Carried } from '../../src/wire/frames.ts';

export function carriedText(carried: Carried): string {
  const pieces = typeof carried === 'string' || Buffer.isBuffer(carried) ? [carried] : carried;
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece))).toString();
}
