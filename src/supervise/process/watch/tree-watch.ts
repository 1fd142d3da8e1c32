// Visits every running tree about once a second: each visit records new descendants and checks the
// limits. Visits are spread over the second and never overlap, the first comes soon after the start
// (processes that escape usually do so then), and without trees there is no timer.

import type { Clock } from '../../../kernel/clock.ts';
import { ignored } from '../../../kernel/contain.ts';

const tickMs = 250;
const visitEveryMs = 1000;

export class Rounds implements Disposable {
  readonly #clock: Clock;
  /** When each visit is due; one for each child, until it is disposed of. */
  readonly #visits = new Map<() => Promise<void>, number>();
  #timer: Disposable | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Visits until the returned handle is disposed. A visit must not throw. */
  add(visit: () => Promise<void>): Disposable {
    this.#visits.set(visit, this.#clock.now() + tickMs);
    if (this.#timer === undefined) this.#arm();
    return { [Symbol.dispose]: () => this.#remove(visit) };
  }

  [Symbol.dispose](): void {
    this.#visits.clear();
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }

  #remove(visit: () => Promise<void>): void {
    this.#visits.delete(visit);
    if (this.#visits.size === 0) this[Symbol.dispose]();
  }

  #arm(): void {
    this.#timer = this.#clock.after(tickMs, () => this.#tick().catch(ignored), true);
  }

  async #tick(): Promise<void> {
    const timer = this.#timer;
    const now = this.#clock.now();
    for (const [visit, dueAt] of [...this.#visits]) {
      if (dueAt > now || !this.#visits.has(visit)) continue;
      this.#visits.set(visit, now + visitEveryMs);
      // A tree that cannot be visited now must not cost the others their visits.
      await visit().catch(ignored);
    }
    // Ended meanwhile, or ended and begun again with a timer of its own.
    if (this.#timer === timer && timer !== undefined) this.#arm();
  }
}
