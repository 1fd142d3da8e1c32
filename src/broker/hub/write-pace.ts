// When the next entry of the inbox is written: at once, or a moment later. A letter that its reader is done with before
// it is written need not be written at all. So where most letters of late were done with within a moment, the next ones
// are given that moment; where readers take longer, each write begins at once. Nothing is confirmed earlier by it:
// a letter is confirmed when it is on the disk, or done with.

/** What counts as a moment: much less than anybody waits for a confirmation, and more than a quick answer takes. */
export const momentMs = 2;

export class WritePace {
  #isQuick = false;
  /** Letters since the last write before which any came: those that came, and those that were done with soon. */
  #came = 0;
  #soon = 0;
  /** Of the last write: its lowest number, and when it began. */
  #first = Number.POSITIVE_INFINITY;
  #at = Number.NEGATIVE_INFINITY;

  /** Whether the next write is a moment later. */
  get waits(): boolean {
    return this.#isQuick;
  }

  came(): void {
    this.#came += 1;
  }

  /** `isWritten`: it was written before. */
  done(number: number, isWritten: boolean, now: number): void {
    const isLast = number >= this.#first && now - this.#at <= momentMs;
    if (!isWritten || isLast) this.#soon += 1;
  }

  /** A write begins; `first` is the lowest number of its letters, undefined if it has none. */
  writes(first: number | undefined, now: number): void {
    if (this.#came > 0) {
      this.#isQuick = 2 * this.#soon >= this.#came;
      this.#came = 0;
      this.#soon = 0;
    }
    this.#first = first ?? Number.POSITIVE_INFINITY;
    this.#at = now;
  }
}
