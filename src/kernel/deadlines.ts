// Timers that are nearly always cancelled before they fire, as the deadlines of calls are, made
// cheap: those of one length wait in one line, in the order in which they were set, behind a single
// timer of the real clock that is never moved. It fires at the earliest time anyone could be due,
// and waits again for whoever is first then. Setting and cancelling touch only the line. A line that
// nobody waits in any more when its timer fires is forgotten, and there are only so many: a caller may
// choose any length, and what is left of an extended deadline is hardly ever the same twice. A length
// that has no line gets a timer of its own.

import type { Clock } from './clock.ts';

/** A config has a handful of lengths; more lines than this would cost what they are meant to save. */
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

  /** What waits for a deadline keeps the process alive by itself, so the timer need not. */
  after(ms: number, task: () => void): Disposable {
    if (this.#latest?.ms !== ms) {
      const line = this.#lineOf(ms);
      if (line === undefined) return this.#clock.after(ms, task, true);
      this.#latest = line;
    }
    return this.#latest.add(task);
  }

  /** How many lengths have a line. */
  get lines(): number {
    return this.#lines.size;
  }

  [Symbol.dispose](): void {
    for (const line of this.#lines.values()) line[Symbol.dispose]();
    this.#lines.clear();
    this.#latest = undefined;
  }

  /** Undefined if there is no room for another. */
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

/** Everyone who waits equally long; the first in is the first due. */
class Line implements Disposable {
  readonly ms: number;
  readonly #clock: Clock;
  /** Told when the time of the last has passed and nobody waits. */
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
        // Those behind it in the line are due all the same; the clock tells of the error.
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
