// A clock that moves only when a test says so. Timers run in the order of their times, and a timer that
// is set while time moves still runs if its time has come.

import type { Clock } from '../../src/kernel/clock.ts';

interface Timer {
  readonly at: number;
  readonly task: () => void;
}

export class ManualClock implements Clock {
  readonly #timers = new Set<Timer>();
  #now = 0;
  #wallOffset: number;

  constructor(wallStart = 1_700_000_000_000) {
    this.#wallOffset = wallStart;
  }

  now(): number {
    return this.#now;
  }

  wallNow(): number {
    return this.#now + this.#wallOffset;
  }

  after(ms: number, task: () => void): Disposable {
    const timer = { at: this.#now + ms, task };
    this.#timers.add(timer);
    return { [Symbol.dispose]: () => void this.#timers.delete(timer) };
  }

  /** How many timers wait. */
  get waiting(): number {
    return this.#timers.size;
  }

  advance(ms: number): void {
    const end = this.#now + ms;
    for (let next = this.#due(end); next !== undefined; next = this.#due(end)) {
      this.#now = next.at;
      this.#timers.delete(next);
      next.task();
    }
    this.#now = end;
  }

  /** Somebody sets the wall clock; monotonic time does not notice. */
  jumpWall(ms: number): void {
    this.#wallOffset += ms;
  }

  #due(end: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.at <= end && (first === undefined || timer.at < first.at)) first = timer;
    }
    return first;
  }
}
