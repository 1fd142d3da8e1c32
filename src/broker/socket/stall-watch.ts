// Whether this process has stood still: it was stopped, its machine slept, or it had no time. What lies on its socket then
// was handed to it when it was still allowed and in time, and may be neither any more. A look at both clocks four times a
// second says how long nothing ran: the monotonic one stands still with the machine, the wall clock does not.

import type { Clock } from '../../kernel/clock.ts';

const lookEveryMs = 250;
/** Shorter than this, nothing that was handed over can be much too late. */
export const stalledAfterMs = 2_000;

export class StallWatch implements Disposable {
  readonly #clock: Clock;
  readonly #stalled: (ms: number) => void;
  #at: number;
  #wallAt: number;
  #timer: Disposable;

  /** `stalled` is called once for each time; it may end the watch. */
  constructor(clock: Clock, stalled: (ms: number) => void) {
    this.#clock = clock;
    this.#stalled = stalled;
    this.#at = clock.now();
    this.#wallAt = clock.wallNow();
    this.#timer = this.#next();
  }

  /** Asked before anything is read as well: a timer may come later than what has waited on the socket. */
  look(): void {
    const [now, wallNow] = [this.#clock.now(), this.#clock.wallNow()];
    const ms = Math.max(now - this.#at, wallNow - this.#wallAt);
    if (ms < stalledAfterMs) return;
    this.#at = now;
    this.#wallAt = wallNow;
    this.#stalled(ms);
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
  }

  #next(): Disposable {
    const look = () => {
      this.#timer = this.#next();
      this.look();
      this.#at = this.#clock.now();
      this.#wallAt = this.#clock.wallNow();
    };
    return this.#clock.after(lookEveryMs, look, true);
  }
}
