// When to try again what a disk has refused: after a second, and then each time twice as long, up to a
// minute, until it succeeds. One attempt is planned at a time. What is tried is none of its business.

import type { Clock } from '../kernel/clock.ts';

const firstMs = 1_000;
const longestMs = 60_000;

export class Retry implements Disposable {
  readonly #clock: Clock;
  readonly #task: () => void;
  #delayMs = firstMs;
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
      this.#delayMs,
      () => {
        this.#timer = undefined;
        this.#task();
      },
      true,
    );
    this.#delayMs = Math.min(longestMs, this.#delayMs * 2);
  }

  succeeded(): void {
    this.#callOff();
    this.#delayMs = firstMs;
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
