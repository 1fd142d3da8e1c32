// Which faults happen, and how often. Every seed has its own climate: some kinds of faults are
// possible in it and others are not, because rare combinations are found by many different mixes
// and not by one with everything in it. Within a run fair and foul spells follow each other, so that
// servers also recover. When the weather is calm nothing new goes wrong; what has gone wrong stays.

import type { Dice } from './random.ts';

/** How likely each fault is at each opportunity for it, in an average spell. */
const rates = {
  // The process and its pipes.
  'spawn-eagain': 0.04,
  'spawn-emfile': 0.04,
  'spawn-slow': 0.08,
  'exit-at-start': 0.08,
  'exit-before-greeting': 0.06,
  'exit-before-effect': 0.04,
  'exit-after-effect': 0.04,
  'exit-idle': 0.03,
  'ignore-eof': 0.3,
  'ignore-term': 0.3,
  'leave-strays': 0.15,
  'stop-reading': 0.02,
  'close-stdin': 0.01,
  'close-stdout': 0.01,
  'write-error': 0.01,
  'torn-chunks': 0.2,
  // What it says.
  'hang-discover': 0.08,
  'hang-initialize': 0.08,
  'hang-list': 0.08,
  'hang-call': 0.03,
  'hang-after-effect': 0.03,
  'hang-ping': 0.3,
  freeze: 0.015,
  'slow-start': 0.1,
  'slow-answer': 0.1,
  'late-answer': 0.5,
  'duplicate-answer': 0.05,
  'unknown-id': 0.05,
  'foreign-id': 0.05,
  'half-line-death': 0.02,
  'garbage-line': 0.06,
  'damaged-answer': 0.02,
  'oversized-line': 0.02,
  'garbage-flood': 0.005,
  'server-request': 0.05,
  'list-changed': 0.05,
  'changed-definition': 0.25,
  'failed-list': 0.08,
  'rpc-error': 0.05,
  'tool-error': 0.05,
  // The network and what a remote server says by status.
  'http-refused': 0.05,
  'http-reset-unread': 0.03,
  'http-reset-before-effect': 0.03,
  'http-reset-after-effect': 0.03,
  'http-hang': 0.03,
  'http-hang-notification': 0.03,
  'http-503-before-effect': 0.03,
  'http-503-after-effect': 0.03,
  'http-429': 0.03,
  'http-401': 0.01,
  'http-404': 0.02,
  'session-404': 0.03,
  'stream-end': 0.03,
  'slow-drip': 0.05,
  'http-garbage': 0.02,
  // The machine.
  'wall-jump': 0.3,
  'store-slow': 0.05,
  'store-forgets': 0.05,
} as const;

export type FaultKind = keyof typeof rates;

export const faultKinds = Object.keys(rates) as FaultKind[];

/** How much of the faults a spell brings. */
const spells = [0, 0.4, 1, 1, 3] as const;

export class Weather {
  readonly counts = new Map<FaultKind, number>();
  readonly #dice: Dice;
  readonly #climate = new Map<FaultKind, number>();
  #spell = 1;
  #isCalm = false;

  /** `without`: kinds that do not happen, to cut a failing run down to what matters. */
  constructor(dice: Dice, without: ReadonlySet<FaultKind> = new Set()) {
    this.#dice = dice;
    const severity = dice.pick([0.5, 1, 1, 2]);
    for (const kind of faultKinds) {
      const rate = dice.chance(0.6) ? rates[kind] * severity * dice.pick([0.5, 1, 2]) : 0;
      this.#climate.set(kind, without.has(kind) ? 0 : rate);
    }
  }

  /** Does this fault happen here and now? */
  strikes(kind: FaultKind): boolean {
    if (this.#isCalm || this.#spell === 0) return false;
    const rate = this.#climate.get(kind) ?? 0;
    if (!this.#dice.chance(rate * this.#spell)) return false;
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
    return true;
  }

  /** Another spell begins. Resolves to how long it lasts. */
  change(): number {
    this.#spell = this.#dice.pick(spells);
    return this.#dice.between(5_000, 30_000);
  }

  calm(): void {
    this.#isCalm = true;
  }
}
