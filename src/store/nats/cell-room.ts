// Bounds how many live values a stream has. The server bounds its messages; but what is absent stays for a while, so
// the live ones are counted here: estimated by our own changes, and looked up when the bound seems to be reached.
// Several processes may exceed it together by what they have put since they last looked. The values are gone through
// for one caller at a time, and where there was no room, not again for a while.

import { StoreError } from '../store-error.ts';
import { sweepCells } from './cell-sweep.ts';
import { type Cells, isLive } from './cells.ts';

/** Above the bound, for what is absent. */
export function messageLimit(maxEntries: number): number {
  return 2 * maxEntries + 1_024;
}

/** So long a stream that is full is not counted again. */
const fullMs = 5_000;

export class CellRoom {
  readonly #cells: Cells;
  readonly #maxEntries: number;
  readonly #name: string;
  /** At most this many are live, as far as we know. */
  #estimate = Number.POSITIVE_INFINITY;
  /** When it was last counted: messages, and those of them that were absent. */
  #counted = { messages: 0, dead: 0 };
  #counting: Promise<void> | undefined;
  /** There is no room before this, in the shared time, as far as we know. */
  #fullUntil = Number.NEGATIVE_INFINITY;

  constructor(cells: Cells, name: string, maxEntries: number) {
    this.#cells = cells;
    this.#name = name;
    this.#maxEntries = maxEntries;
  }

  /** Before a put that may be a new key. Rejects with a StoreError. */
  async assertRoomFor(key: string): Promise<void> {
    if (this.#estimate < this.#maxEntries) return this.#took();
    const { messages } = await this.#cells.stream.state();
    const dropped = Math.max(0, this.#counted.messages - messages);
    this.#estimate = messages - Math.max(0, this.#counted.dead - dropped);
    if (this.#estimate < this.#maxEntries) return this.#took();
    const there = await this.#cells.message(key);
    const { session } = await this.#cells.stream.open();
    if (there !== undefined && isLive(there, session.now())) return;
    if (session.now() >= this.#fullUntil) {
      this.#counting ??= this.#count().finally(() => {
        this.#counting = undefined;
      });
      await this.#counting;
      if (this.#estimate < this.#maxEntries) return this.#took();
    }
    throw new StoreError('full', `there is no room for another record of ${this.#name}`);
  }

  /** Something was removed here. */
  freed(): void {
    this.#fullUntil = Number.NEGATIVE_INFINITY;
  }

  async #count(): Promise<void> {
    const { session } = await this.#cells.stream.open();
    const { live, dead, firstEnd } = await sweepCells(this.#cells);
    this.#counted = { messages: live + dead, dead };
    this.#estimate = live;
    const isFull = live >= this.#maxEntries;
    // What others remove is noticed after this time, and what is over at once.
    if (isFull) this.#fullUntil = Math.min(session.now() + fullMs, firstEnd);
  }

  #took(): void {
    this.#estimate += 1;
  }
}
