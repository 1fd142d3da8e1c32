// How many calls were made within the last 60 seconds, exactly: each call counts from its own moment. A
// refused call is not counted. It lives in memory only, because a minute is short.

import type { Clock } from '../kernel/clock.ts';

const minuteMs = 60_000;

export class MinuteWindow {
  readonly #clock: Clock;
  readonly #limit: number;
  // When the calls of the last minute were made, the oldest first; at most `limit` of them count.
  #recent: number[] = [];
  // Entries before this index are older than a minute; they are removed when they are half of all.
  #oldest = 0;

  /** Infinity: no limit, and nothing is stored. */
  constructor(clock: Clock, limit: number) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /** How long to wait until another call fits; 0: it fits now. */
  waitMs(): number {
    if (this.#limit === Number.POSITIVE_INFINITY) return 0;
    const now = this.#clock.now();
    while ((this.#recent[this.#oldest] ?? Number.POSITIVE_INFINITY) + minuteMs <= now) {
      this.#oldest += 1;
    }
    if (this.#oldest > this.#recent.length / 2) {
      this.#recent = this.#recent.slice(this.#oldest);
      this.#oldest = 0;
    }
    if (this.#recent.length - this.#oldest < this.#limit) return 0;
    const freeAt = (this.#recent[this.#oldest] ?? now) + minuteMs;
    return Math.ceil(freeAt - now);
  }

  /** A call is made now; `waitMs` was 0 in this turn. */
  count(): void {
    if (this.#limit !== Number.POSITIVE_INFINITY) this.#recent.push(this.#clock.now());
  }

  /** How many times are stored. */
  get kept(): number {
    return this.#recent.length;
  }
}
