// A caller's own count of what its budget still allows. The host counts for itself, somewhere in the
// context of asynchronous work; this one is passed along by hand and must come to the same result:
// exactly so many calls are issued, whether or not the cache answers them.

import type { BudgetLimits } from '../../src/policy/budget.ts';

const minuteMs = 60_000;

export class Allowance {
  readonly limits: BudgetLimits;
  readonly #issued: number[] = [];

  constructor(limits: BudgetLimits) {
    this.limits = limits;
  }

  /** A call is about to be issued; true if it must be refused. Bytes are not foreseen here. */
  spend(now: number): boolean | undefined {
    const { calls, perMinute, bytes } = this.limits;
    if (typeof bytes === 'number') return undefined;
    const recent = this.#issued.filter((at) => now - at < minuteMs).length;
    const isOver = this.#issued.length >= (calls ?? Infinity) || recent >= (perMinute ?? Infinity);
    if (!isOver) this.#issued.push(now);
    return isOver;
  }
}
