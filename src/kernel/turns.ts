// Runs a limited number of tasks at the same time, the rest in the order in which they came. For
// work that is done for every server at once and uses a scarce resource such as open files.

export class Turns {
  readonly #places: number;
  /** Bound: the work that was asked for and has not begun. */
  readonly #waiting: (() => void)[] = [];
  /** The index of the next waiting task: removing from the front of a long array would be slow. */
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

  /** The slot goes to the next waiting task. */
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
