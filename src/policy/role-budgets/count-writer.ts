// Writes counts into their records: of each count one write at a time, and only the latest state of it. A store that
// hangs refuses nobody: whoever waits for a write waits `storeMs` at most, and while a write is late nobody waits for
// any. Counts go on in memory then, as they do while a store fails.

import { type Clock, within } from '../../kernel/clock.ts';

/** How long anybody waits for the store. */
export const storeMs = 10_000;

export interface CountWriterParts<Count> {
  readonly clock: Clock;
  /** Never rejects. */
  readonly put: (key: string, count: Count) => Promise<void>;
  /** Beyond so many counts under way, further ones are not written; a later state of them is. */
  readonly max: number;
}

interface Writing<Count> {
  /** What came while the one before was written. */
  next: Count | undefined;
  /** All of it is written. */
  done: Promise<void>;
}

export class CountWriter<Count> {
  readonly #parts: CountWriterParts<Count>;
  /** By key, until they are written; at most `max`. */
  readonly #writing = new Map<string, Writing<Count>>();
  /** Somebody has waited in vain, and no write has ended since. */
  #isLate = false;

  constructor(parts: CountWriterParts<Count>) {
    this.#parts = parts;
  }

  /** Resolves when it is written, or nobody should wait for that any longer. Begins in this turn. */
  async write(key: string, count: Count): Promise<void> {
    const writing = this.#begun(key, count);
    if (writing === undefined || this.#isLate) return;
    let isDone = false;
    const done = writing.done.then(() => {
      isDone = true;
    });
    await within(this.#parts.clock, storeMs, done);
    if (!isDone) this.#isLate = true;
  }

  /** Resolves when nothing is being written. */
  async idle(): Promise<void> {
    while (this.#writing.size > 0) {
      await Promise.all([...this.#writing.values()].map(({ done }) => done));
    }
  }

  #begun(key: string, count: Count): Writing<Count> | undefined {
    const known = this.#writing.get(key);
    if (known !== undefined) {
      known.next = count;
      return known;
    }
    if (this.#writing.size >= this.#parts.max) return undefined;
    const writing: Writing<Count> = { next: undefined, done: Promise.resolve() };
    this.#writing.set(key, writing);
    writing.done = this.#writeAll(key, count, writing);
    return writing;
  }

  async #writeAll(key: string, first: Count, writing: Writing<Count>): Promise<void> {
    for (let count: Count | undefined = first; count !== undefined; count = writing.next) {
      writing.next = undefined;
      await this.#parts.put(key, count);
      this.#isLate = false;
    }
    this.#writing.delete(key);
  }
}
