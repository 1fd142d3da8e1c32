// Whether two sets of measured times differ by more than chance. The difference of their medians is compared with what
// chance makes of one kind alone: each set is parted at random into two halves, a thousand times, and the
// difference between the medians of the halves that 99 of 100 do not exceed is what chance does in that set. The
// larger of the two is the limit, because on a busy machine times lie in several heaps, and the median of only one set
// may lie between two of them. Halves are smaller than the sets, so that their medians vary more than those of the
// sets: two sets of one kind exceed the limit far less often than once in a hundred times.

import type { Dice } from '../support/dice.ts';

export interface Difference {
  /** Of the medians, in milliseconds; positive if the first are slower. */
  readonly ms: number;
  readonly limitMs: number;
}

const splits = 1_000;
const quantile = 0.99;

export function difference(
  first: readonly number[],
  second: readonly number[],
  dice: Dice,
): Difference {
  return {
    ms: medianOf(first) - medianOf(second),
    limitMs: Math.max(byChance(first, dice), byChance(second, dice)),
  };
}

export function isByChance({ ms, limitMs }: Difference): boolean {
  return Math.abs(ms) <= limitMs;
}

export function medianOf(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort();
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? Number.NaN) + upper) / 2;
}

function byChance(values: readonly number[], dice: Dice): number {
  const between = Array.from({ length: splits }, () => {
    const mixed = shuffled(values, dice);
    const half = mixed.length >> 1;
    return Math.abs(medianOf(mixed.slice(0, half)) - medianOf(mixed.slice(half)));
  });
  between.sort((a, b) => a - b);
  return between[Math.ceil(quantile * splits) - 1] ?? Number.NaN;
}

/** In an order of chance. */
export function shuffled<T>(values: readonly T[], dice: Dice): T[] {
  const mixed = [...values];
  for (let at = mixed.length - 1; at > 0; at -= 1) {
    const other = dice.between(0, at);
    [mixed[at], mixed[other]] = [mixed[other] as T, mixed[at] as T];
  }
  return mixed;
}
