// A clock that moves only when a test says so. Timers run in the order of their times, and of their
// setting where the times are equal; a timer that is set while time moves still runs if its time has
// come. Wall time is another number than monotonic time, and jumps when told to, so that code that
// mixes the two up fails here and not in production.

import type { Clock } from '../../src/kernel/clock.ts';

interface Timer {
  readonly at: number;
  readonly task: () => void;
  readonly background: boolean;
}

export class ManualClock implements Clock {
  readonly #timers = new Set<Timer>();
  #now: number;
  #wallOffset: number;

  constructor(wallStart = 1_700_000_000_000, start = 0) {
    this.#wallOffset = wallStart - start;
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  wallNow(): number {
    return this.#now + this.#wallOffset;
  }

  after(ms: number, task: () => void, background = false): Disposable {
    const timer = { at: this.#now + Math.max(0, ms), task, background };
    this.#timers.add(timer);
    return { [Symbol.dispose]: () => void this.#timers.delete(timer) };
  }

  /** How many timers are set. */
  get pending(): number {
    return this.#timers.size;
  }

  /** How many of them would keep a process alive. */
  get foreground(): number {
    return [...this.#timers].filter(({ background }) => !background).length;
  }

  /** The same as `pending`. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** How long the timer that runs last has to wait. */
  get longest(): number {
    return Math.max(0, ...[...this.#timers].map(({ at }) => at - this.#now));
  }

  advance(ms: number): void {
    const end = this.#now + ms;
    while (this.#runNext(end));
    this.#now = end;
  }

  /** The same, with everything that waits for a promise brought to rest before and after each timer. */
  async advanceAsync(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settled();
    while (this.#runNext(end)) await settled();
    this.#now = end;
    await settled();
  }

  /** Somebody sets the wall clock; monotonic time does not notice. */
  jumpWall(ms: number): void {
    this.#wallOffset += ms;
  }

  #runNext(end: number): boolean {
    let next: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.at <= end && (next === undefined || timer.at < next.at)) next = timer;
    }
    if (next === undefined) return false;
    this.#now = next.at;
    this.#timers.delete(next);
    next.task();
    return true;
  }
}

/** A clock whose monotonic time begins at `start`. */
export function manualClock(start = 0): ManualClock {
  return new ManualClock(1_700_000_000_000, start);
}

/**
 * Resolves when every promise that can settle has settled, with all that follows from it. An
 * immediate runs only after the queue of microtasks is empty, so this is exact, not a guess.
 */
export function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
