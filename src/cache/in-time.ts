// Work on a store that nobody has to wait for: what fails or takes too long counts as not done, and a store that did not
// answer is left alone for a while.

import { type Clock, within } from '../kernel/clock.ts';
import type { Caught } from '../kernel/contain.ts';
import { Fault } from '../kernel/fault.ts';

/** Nobody waits longer for the store; while it does not answer, it is left alone. */
const storeMs = 1_000;
const aloneMs = 10_000;

export class InTime {
  readonly #clock: Clock;
  readonly #caught: Caught;
  #aloneUntil = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, caught: Caught) {
    this.#clock = clock;
    this.#caught = caught;
  }

  /** Undefined if it failed or took too long. */
  async run<T>(work: () => Promise<T>): Promise<T | undefined> {
    if (this.#clock.now() < this.#aloneUntil) return undefined;
    let result: T | undefined;
    let isDone = false;
    const working = work()
      .then((value) => {
        result = value;
      })
      .finally(() => {
        isDone = true;
      })
      .catch((error: unknown) => {
        if (!(error instanceof Fault)) this.#caught(error);
      });
    await within(this.#clock, storeMs, working);
    if (!isDone) this.#aloneUntil = this.#clock.now() + aloneMs;
    return result;
  }
}
