// Work that takes turns: so many pieces at a time, the rest in the order in which it came. For what is
// done for each server at once and holds something of which a process has few, such as open files.

export class Turns {
  readonly #places: number;
  /** Bound: the work that was asked for and has not begun. */
  readonly #waiting: (() => void)[] = [];
  /** The next of those who wait: taking from the front of a long array would cost its length. */
  #next = 0;
  #inside = 0;

  constructor(places: number) {
    this.#places = places;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#inside < this.#places) this.#inside += 1;
    else await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  /** The place goes to the next who waits. */
  #leave(): void {
    const next = this.#waiting[this.#next];
    if (next === undefined) {
      this.#inside -= 1;
      return;
    }
    this.#next += 1;
    if (this.#next === this.#waiting.length) {
      this.#waiting.length = 0;
      this.#next = 0;
    }
    next();
  }
}
