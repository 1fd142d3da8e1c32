// Cheap timers for deadlines, which are nearly always cancelled before they fire. Timers of the
// same length wait in one queue in the order in which they were set, behind a single timer of the
// real clock that is never moved. It fires at the earliest time at which one could be due, and is
// then set again for the first in the queue. Setting and cancelling only touch the queue. A queue
// that is empty when its timer fires is removed, and the number of queues is bounded, because a
// caller may choose any length and the rest of an extended deadline is hardly ever the same twice.
// A length without a queue gets a timer of its own.

import type { Clock } from './clock.ts';

/** A config has a handful of lengths; more queues than this would cost more than they save. */
const maxLines = 32;

export class Deadlines implements Clock, Disposable {
  readonly #clock: Clock;
  /** By length; at most `maxLines`. */
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

  /** The pending work keeps the process alive by itself, so the timer need not. */
  after(ms: number, task: () => void): Disposable {
    if (this.#latest?.ms !== ms) {
      const line = this.#lineOf(ms);
      if (line === undefined) return this.#clock.after(ms, task, true);
      this.#latest = line;
    }
    return this.#latest.add(task);
  }

  /** How many lengths have a queue. */
  get lines(): number {
    return this.#lines.size;
  }

  [Symbol.dispose](): void {
    for (const line of this.#lines.values()) line[Symbol.dispose]();
    this.#lines.clear();
    this.#latest = undefined;
  }

  /** Undefined if there is no room for another queue. */
  #lineOf(ms: number): Line | undefined {
    const known = this.#lines.get(ms);
    if (known || this.#lines.size >= maxLines) return known;
    const line = new Line(this.#clock, ms, () => this.#forget(line));
    this.#lines.set(ms, line);
    return line;
  }

  #forget(line: Line): void {
    this.#lines.delete(line.ms);
    if (this.#latest === line) this.#latest = undefined;
  }
}

/** All deadlines of the same length; the first in is the first due. */
class Line implements Disposable {
  readonly ms: number;
  readonly #clock: Clock;
  /** Called when the time of the last one has passed and the queue is empty. */
  readonly #empty: () => void;
  #timer: Disposable | undefined;
  first: Place | undefined;
  last: Place | undefined;

  constructor(clock: Clock, ms: number, empty: () => void) {
    this.#clock = clock;
    this.ms = ms;
    this.#empty = empty;
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
        // The other due deadlines of the queue must still fire; the clock reports the error.
        if (this.first && !this.#timer) this.#arm(0);
        throw error;
      }
    }
    if (this.#timer) return;
    if (this.first) this.#arm(this.first.dueAt - now);
    else this.#empty();
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

  /** Removes it from the queue; calling this twice is allowed. */
  [Symbol.dispose](): void {
    const line = this.#line;
    if (!line) return;
    this.#line = undefined;
    if (this.#before) this.#before.#after = this.#after;
    else line.first = this.#after;
    if (this.#after) this.#after.#before = this.#before;
    else line.last = this.#before;
    // A removed entry must not reference its neighbours: if the garbage collector has moved it to
    // the old generation, it would keep all later entries and their calls alive.
    this.#before = undefined;
    this.#after = undefined;
    this.task = left;
  }
}

/** The task of a removed entry. */
function left(): void {}
