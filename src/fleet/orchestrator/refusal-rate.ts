// How many of the told letters of one worker are answered that are refused before they run, or ask for what is not
// there. Nobody keeps those letters, and they cost their sender nothing: beyond the rate they are dropped.

import type { Clock } from '../../kernel/clock.ts';
import { OwnerCounts } from '../../kernel/owner-counts.ts';

const everyMs = 1_000;
/** More than a worker has open. */
export const refusalsInTime = 1_024;

export class RefusalRate {
  readonly #clock: Clock;
  #since: number;
  /** By worker, those since then. */
  #counts = new OwnerCounts();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.now();
  }

  /** Whether another one is answered now; then it counts. */
  take(worker: string): boolean {
    const now = this.#clock.now();
    if (now - this.#since >= everyMs) {
      this.#since = now;
      this.#counts = new OwnerCounts();
    }
    if (this.#counts.of(worker) >= refusalsInTime) return false;
    this.#counts.add(worker);
    return true;
  }
}
