// Changes of a store that could not be made, and are tried again: after growing delays, for a while, and not more of them
// than a bound. Nobody waits for them. What they are about is told when they are over, whether they were made or given up.

import { backoffMs } from '../kernel/backoff.ts';
import type { Clock } from '../kernel/clock.ts';
import { type Caught, ignored } from '../kernel/contain.ts';

export interface LaterPolicy {
  readonly firstMs: number;
  readonly longestMs: number;
  /** So long it is tried. */
  readonly untilMs: number;
  readonly max: number;
}

const usual: LaterPolicy = { firstMs: 250, longestMs: 15_000, untilMs: 900_000, max: 1_024 };

export class LaterChanges {
  readonly #clock: Clock;
  readonly #policy: LaterPolicy;
  #count = 0;

  constructor(clock: Clock, policy: LaterPolicy = usual) {
    this.#clock = clock;
    this.#policy = policy;
  }

  /** How many wait. */
  get size(): number {
    return this.#count;
  }

  /** False: there are too many already, and nothing is tried. `over` must not throw. */
  add(change: () => Promise<void>, over: () => void): boolean {
    if (this.#count >= this.#policy.max) return false;
    this.#count += 1;
    const giveUpAt = this.#clock.now() + this.#policy.untilMs;
    const ended = () => {
      this.#count -= 1;
      over();
    };
    const again: Caught = () => {
      if (this.#clock.now() >= giveUpAt) ended();
      else attempt();
    };
    let tried = 0;
    const attempt = () => {
      const ms = backoffMs(this.#policy, tried);
      tried += 1;
      const tryNow = () => void change().then(ended, again).catch(ignored);
      this.#clock.after(ms, tryNow, true);
    };
    attempt();
    return true;
  }
}
