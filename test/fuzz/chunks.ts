// The same bytes in other pieces. A stream promises nothing about where its chunks end, so whatever
// reads one must come to the same end for every way of cutting it.

import type { Dice } from '../simulation/random.ts';

/** Each chunk has memory of its own: nobody may count on what stands behind it. */
export function chunksOf(bytes: Buffer, dice: Dice): Buffer[] {
  // Byte by byte is worth its time for short streams, and now and then for a long one.
  const isShort = bytes.length < 2_000 || dice.chance(0.03);
  const size = dice.pick(isShort ? [1, 2, 3, 7, 64, 500] : [64, 500, 4096, 5000, 65_536]);
  const isEven = dice.chance(0.3);
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + (isEven ? size : dice.between(dice.chance(0.05) ? 0 : 1, 2 * size));
    chunks.push(Buffer.from(bytes.subarray(at, end)));
    at = end;
  }
  return chunks;
}
