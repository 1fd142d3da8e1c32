// When to try again what a disk has refused: after a second, then each time twice as long, up to a
// minute, until it succeeds. One attempt is scheduled at a time. The caller provides the attempt.

import { backoffMs } from '../kernel/backoff.ts';
import type { Clock } from '../kernel/clock.ts';

const pause = { firstMs: 1_000, longestMs: 60_000 };

export class Retry implements Disposable {
  readonly #clock: Clock;
  readonly #task: () => void;
  /** In a row, each of which has had its attempt. */
  #refusals = 0;
  #timer: Disposable | undefined;
  #isOver = false;

  constructor(clock: Clock, task: () => void) {
    this.#clock = clock;
    this.#task = task;
  }

  /** It was refused: there will be another attempt. */
  refused(): void {
    if (this.#timer !== undefined || this.#isOver) return;
    this.#timer = this.#clock.after(
      backoffMs(pause, this.#refusals),
      () => {
        this.#timer = undefined;
        this.#task();
      },
      true,
    );
    this.#refusals += 1;
  }

  succeeded(): void {
    this.#callOff();
    this.#refusals = 0;
  }

  /** For good: what is refused after the end is not tried again. */
  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#callOff();
  }

  #callOff(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }
}
