// Changes of a store that could not be made, and are tried again: after growing delays, for a while, and not more of them
// than a bound. Nobody waits for them. What they are about is told when they are over, whether they were made or given up.
// When the process ends, each is tried once more.

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

/** One that is tried again. */
interface Waiting {
  /** Until its next try; undefined: it is being tried. */
  timer: Disposable | undefined;
  readonly tryNow: () => Promise<void>;
}

export class LaterChanges {
  readonly #clock: Clock;
  readonly #policy: LaterPolicy;
  /** At most as many as the policy says. */
  readonly #waiting = new Set<Waiting>();
  #isClosed = false;

  constructor(clock: Clock, policy: LaterPolicy = usual) {
    this.#clock = clock;
    this.#policy = policy;
  }

  /** How many wait. */
  get size(): number {
    return this.#waiting.size;
  }

  /** False: there are too many already, or the process ends, and nothing is tried. `over` must not throw. */
  add(change: () => Promise<void>, over: () => void): boolean {
    if (this.#isClosed || this.#waiting.size >= this.#policy.max) return false;
    const giveUpAt = this.#clock.now() + this.#policy.untilMs;
    const ended = () => {
      this.#waiting.delete(waiting);
      over();
    };
    const again: Caught = () => {
      if (this.#isClosed || this.#clock.now() >= giveUpAt) ended();
      else wait();
    };
    const waiting: Waiting = { timer: undefined, tryNow: () => change().then(ended, again) };
    let tried = 0;
    const wait = () => {
      const ms = backoffMs(this.#policy, tried);
      tried += 1;
      const next = () => {
        waiting.timer = undefined;
        waiting.tryNow().catch(ignored);
      };
      waiting.timer = this.#clock.after(ms, next, true);
    };
    this.#waiting.add(waiting);
    wait();
    return true;
  }

  /** Resolves when those that wait have been tried once more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const waiting = [...this.#waiting].filter(({ timer }) => timer !== undefined);
    for (const { timer } of waiting) timer?.[Symbol.dispose]();
    await Promise.allSettled(waiting.map(({ tryNow }) => tryNow()));
  }
}
