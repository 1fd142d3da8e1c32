// One parser fuzzed for a while: an input from the dice, a check, the next. Used where time, not a
// number of documents, is what there is. The kept inputs come first.

import { Dice } from '../simulation/random.ts';
import { wrongWith } from './disagreement.ts';
import type { Findings } from './findings.ts';
import { keptInputs, type Parser } from './kept-inputs.ts';
import { minimised } from './minimise.ts';
import { mutated } from './mutations.ts';
import { Tally } from './tally.ts';

export interface Fuzzed {
  readonly parser: Parser;
  readonly make: (dice: Dice) => Buffer;
  /** Throws if something is wrong with it. */
  readonly check: (input: Buffer, tally: Tally) => void;
}

export interface RoundsOptions {
  readonly seed: number;
  readonly seconds: number;
  readonly signal: AbortSignal;
}

/** How often a kept input is changed instead of a new one being made. */
const fromKept = 0.15;
const roundsPerTurn = 64;

/** Returns how many inputs were checked. */
export async function fuzzFor(
  { parser, make, check }: Fuzzed,
  { seed, seconds, signal }: RoundsOptions,
  findings: Findings,
  tally: Tally,
): Promise<number> {
  const kept = keptInputs(parser).map(({ bytes }) => bytes);
  const endAt = Date.now() + 1_000 * seconds;
  let round = 0;
  while (Date.now() < endAt && !signal.aborted && !findings.isEnough) {
    for (let turn = 0; turn < roundsPerTurn; turn += 1, round += 1) {
      const input = inputAt(new Dice(seed, round), kept, make);
      const says = wrongWith(() => check(input, tally));
      if (says === undefined) continue;
      const unseen = new Tally();
      const isWrong = (part: Buffer) => wrongWith(() => check(part, unseen)) !== undefined;
      findings.add(parser, `seed ${seed}, round ${round}`, says, minimised(input, isWrong));
    }
    // An interrupt is heard between turns.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return round;
}

function inputAt(dice: Dice, kept: readonly Buffer[], make: (dice: Dice) => Buffer): Buffer {
  const [first, ...others] = kept;
  if (first === undefined || !dice.chance(fromKept)) return make(dice);
  const [one, other] = [dice.pick([first, ...others]), dice.pick([first, ...others])];
  return mutated(one, other, dice);
}
