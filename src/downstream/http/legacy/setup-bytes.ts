// What clients have said to set their sessions up, in bytes: by owner, and of all together. The number of sessions
// alone bounds no memory, because each of them can bring what it likes with its `initialize` and watch what it likes.

import { OwnerCounts, shareOf } from '../../../kernel/owner-counts.ts';

export class SetupBytes {
  readonly #maxBytes: number;
  readonly #byOwner = new OwnerCounts();
  #all = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Of one session of this owner: less if it is negative. */
  add(owner: string, bytes: number): void {
    this.#all += bytes;
    if (bytes > 0) this.#byOwner.add(owner, bytes);
    else if (bytes < 0) this.#byOwner.remove(owner, -bytes);
  }

  /** Whether an owner would have more than its share. */
  isBeyondShare(owner: string, more: number): boolean {
    return this.#byOwner.of(owner) + more > shareOf(this.#maxBytes);
  }

  /** Whether all together would be too much. */
  isFull(more: number): boolean {
    return this.#all + more > this.#maxBytes;
  }

  /** Who has the most; undefined if nobody has any. */
  largest(): string | undefined {
    return this.#byOwner.largest();
  }
}
