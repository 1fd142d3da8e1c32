// What the parts of the crash test of the database are given.

import type { Dice } from '../../support/dice.ts';
import type { Tally } from '../tally.ts';

export interface SqliteOptions {
  /** The program that runs writer and reader: its version decides about the driver. */
  readonly node: string;
  /** The folder of the build. */
  readonly build: string;
  readonly tally: Tally;
  readonly dice: Dice;
  readonly signal: AbortSignal;
  /** Only every so manieth case; 1 is all of them. */
  readonly every: number;
}

/** Those that are tried, beginning with one that the dice choose. */
export function sampled<T>(
  cases: readonly T[],
  { every, dice }: Pick<SqliteOptions, 'every' | 'dice'>,
): readonly T[] {
  const first = every === 1 ? 0 : dice.between(0, every - 1);
  return cases.filter((_case, number) => number % every === first);
}
