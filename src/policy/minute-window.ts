// How many calls were made within the last 60 seconds, exactly: each call counts from its own moment. A
// refused call is not counted. At an orderly end its calls are written down by the second, in wall time, so that
// a restart does not begin a new minute; after a kill they are forgotten.

import type { Clock } from '../kernel/clock.ts';

const minuteMs = 60_000;
const secondMs = 1_000;

/** Calls that were made in one second: when it ended, in wall time, and how many. */
export type CallsOfSecond = readonly [endedAt: number, calls: number];

export class MinuteWindow {
  readonly #clock: Clock;
  readonly #limit: number;
  // When the calls of the last minute were made, the oldest first; at most `limit` of them count.
  #recent: number[] = [];
  // Entries before this index are older than a minute; they are removed when they are half of all.
  #oldest = 0;

  /** Infinity: no limit, and nothing is stored. */
  constructor(clock: Clock, limit: number, former: readonly CallsOfSecond[] = []) {
    this.#clock = clock;
    this.#limit = limit;
    if (limit === Number.POSITIVE_INFINITY) return;
    for (const [endedAt, calls] of former) {
      // A wall clock that was set back must not refuse calls for longer than a minute.
      const age = Math.max(0, clock.wallNow() - endedAt);
      for (let call = 0; age < minuteMs && call < calls && this.#recent.length < limit; call++) {
        this.#recent.push(clock.now() - age);
      }
    }
  }

  /** The calls of the last minute, at most one entry for each second. */
  get calls(): readonly CallsOfSecond[] {
    this.waitMs();
    const byEnd = new Map<number, number>();
    for (const at of this.#recent.slice(this.#oldest)) {
      const wall = this.#clock.wallNow() - (this.#clock.now() - at);
      const endedAt = Math.ceil(wall / secondMs) * secondMs;
      byEnd.set(endedAt, (byEnd.get(endedAt) ?? 0) + 1);
    }
    return [...byEnd];
  }

  /** How many calls of the last minute there are, and in how long the oldest stops counting; null: there is none. */
  get use(): { readonly spent: number; readonly freesInMs: number | null } {
    this.waitMs();
    const oldest = this.#recent[this.#oldest];
    const freesInMs =
      oldest === undefined ? null : Math.ceil(oldest + minuteMs - this.#clock.now());
    return { spent: this.#recent.length - this.#oldest, freesInMs };
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
