// A large response in parts, in thousands of random orders: parts that come twice, late or not at all, links that end in
// between, and parts that are of something else. What comes out is what was announced, or is called damaged.

import { describe, expect, it } from 'vitest';
import { Dice } from '../../../test/support/dice.ts';
import { parcelOf, partBytes, partsAhead } from '../parcel.ts';
import { Download } from './download.ts';

function content(dice: Dice, bytes: number): Buffer {
  return Buffer.alloc(bytes, `${dice.throw()}`);
}

/** What is wrong; undefined: nothing. */
function lived(seed: number): string | undefined {
  const dice = new Dice(`download ${seed}`);
  const whole = content(dice, dice.between(1, 8 * partBytes));
  const download = new Download(parcelOf(whole));
  const isForged = dice.chance(0.2);
  /** Parts on their way: asked for and not come. */
  let onTheWay: number[] = [];
  const came = new Set<number>();
  for (let step = 0; step < 10_000; step += 1) {
    if (download.result !== undefined) break;
    for (const offset of download.next(partsAhead)) {
      if (came.has(offset)) return `asked for the part ${offset} again`;
      onTheWay.push(offset);
    }
    if (onTheWay.length > partsAhead) return `${onTheWay.length} parts are asked for at once`;
    if (onTheWay.length === 0) return 'nothing is asked for, and parts are missing';
    if (dice.chance(0.1)) {
      onTheWay = [];
      download.askAgain();
      continue;
    }
    const offset = dice.pick(onTheWay);
    onTheWay = onTheWay.filter((one) => one !== offset);
    const part = whole.subarray(offset, offset + partBytes);
    if (dice.chance(0.1) && download.put(offset + 1, part)) return 'took a part of no place';
    if (dice.chance(0.1) && part.length > 1 && download.put(offset, part.subarray(1)))
      return 'took a part that is too short';
    const sent = isForged && offset === 0 ? Buffer.alloc(part.length, 'forged') : part;
    if (!download.put(offset, sent)) return `refused the part ${offset}`;
    came.add(offset);
    if (dice.chance(0.2) && !download.put(offset, sent)) return 'a part that comes twice is wrong';
  }
  const { result } = download;
  if (result === undefined) return 'it does not end';
  if (isForged) return result === 'damaged' ? undefined : 'took what is not what was announced';
  return result !== 'damaged' && result.equals(whole) ? undefined : 'it is not what was sent';
}

describe('a large response', () => {
  it('is no longer waited for when what comes is never what was asked for #fleet', () => {
    const download = new Download(parcelOf(Buffer.alloc(3 * partBytes, 'x')));
    const first = Buffer.alloc(partBytes, 'x');
    let came = 0;
    // Each time that nothing new has come, what is missing is asked for again.
    for (; came < 1_000 && download.result === undefined; came += 1) {
      download.askAgain();
      expect(download.next(partsAhead).length).toBeGreaterThan(0);
      if (!download.put(0, first)) break;
    }
    expect(came).toBe(partsAhead + 1);
  });

  it('comes whole or is called damaged, a few parts at a time, in 300 random orders #fleet', () => {
    const broken: string[] = [];
    for (let seed = 1; seed <= 300; seed += 1) {
      const found = lived(seed);
      if (found !== undefined) broken.push(`seed ${seed}: ${found}`);
    }
    expect(broken).toEqual([]);
  });
});
