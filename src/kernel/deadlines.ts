// Timers that are nearly always cancelled before they fire, as the deadlines of calls are, made
// cheap: those of one length wait in one line, in the order in which they were set, behind a single
// timer of the real clock that is never moved. It fires at the earliest time anyone could be due,
// and waits again for whoever is first then. Setting and cancelling touch only the line.

import type { Clock } from './clock.ts';

export class Deadlines implements Clock, Disposable {
  readonly #clock: Clock;
  readonly #lines = new Map<number, Line>();
  #latest: Line | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  wallNow(): number {
    return this.#clock.wallNow();
  }

  /** What waits for a deadline keeps the process alive by itself, so the timer need not. */
  after(ms: number, task: () => void): Disposable {
    if (this.#latest?.ms !== ms) this.#latest = this.#lineOf(ms);
    return this.#latest.add(task);
  }

  [Symbol.dispose](): void {
    for (const line of this.#lines.values()) line[Symbol.dispose]();
    this.#lines.clear();
    this.#latest = undefined;
  }

  #lineOf(ms: number): Line {
    const line = this.#lines.get(ms) ?? new Line(this.#clock, ms);
    this.#lines.set(ms, line);
    return line;
  }
}

/** Everyone who waits equally long; the first in is the first due. */
class Line implements Disposable {
  readonly ms: number;
  readonly #clock: Clock;
  #timer: Disposable | undefined;
  first: Place | undefined;
  last: Place | undefined;

  constructor(clock: Clock, ms: number) {
    this.#clock = clock;
    this.ms = ms;
  }

  add(task: () => void): Disposable {
    const place = new Place(this, this.#clock.now() + this.ms, task);
    if (!this.#timer) this.#arm(this.ms);
    return place;
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.first = undefined;
    this.last = undefined;
  }

  #arm(ms: number): void {
    this.#timer = this.#clock.after(ms, () => this.#fired(), true);
  }

  #fired(): void {
    this.#timer = undefined;
    const now = this.#clock.now();
    while (this.first && this.first.dueAt <= now) {
      const { task } = this.first;
      this.first[Symbol.dispose]();
      try {
        task();
      } catch (error) {
        // Those behind it in the line are due all the same; the clock tells of the error.
        if (this.first && !this.#timer) this.#arm(0);
        throw error;
      }
    }
    if (this.first && !this.#timer) this.#arm(this.first.dueAt - now);
  }
}

class Place implements Disposable {
  readonly dueAt: number;
  task: () => void;
  #line: Line | undefined;
  #before: Place | undefined;
  #after: Place | undefined;

  constructor(line: Line, dueAt: number, task: () => void) {
    this.dueAt = dueAt;
    this.task = task;
    this.#line = line;
    this.#before = line.last;
    if (line.last) line.last.#after = this;
    else line.first = this;
    line.last = this;
  }

  /** Leaves the line; leaving twice is the same as once. */
  [Symbol.dispose](): void {
    const line = this.#line;
    if (!line) return;
    this.#line = undefined;
    if (this.#before) this.#before.#after = this.#after;
    else line.first = this.#after;
    if (this.#after) this.#after.#before = this.#before;
    else line.last = this.#before;
    // One that has left must hold on to nobody: a collector that has moved it among the old would
    // keep everyone who came after it, and their calls, for as long.
    this.#before = undefined;
    this.#after = undefined;
    this.task = left;
  }
}

/** The task of one who has left. */
function left(): void {}
