// Finds the entry that expires first: a binary heap in which every entry stores its own index, so
// that any entry can be removed without a search. The cost of a sweep depends only on the number of
// expired entries.

export interface Expiring {
  readonly expiresAt: number;
  /** Its index in the heap; written by the heap only. */
  place: number;
}

export class ExpiryHeap<Entry extends Expiring> {
  readonly #entries: Entry[] = [];

  get first(): Entry | undefined {
    return this.#entries[0];
  }

  get size(): number {
    return this.#entries.length;
  }

  add(entry: Entry): void {
    this.#entries.push(entry);
    this.#rise(entry, this.#entries.length - 1);
  }

  /** The entry must be in this heap. */
  remove(entry: Entry): void {
    const last = this.#entries.pop();
    if (last === undefined || last === entry) return;
    // The last entry fills the gap; it may belong above or below it.
    this.#rise(last, entry.place);
    this.#sink(last, last.place);
  }

  #rise(entry: Entry, from: number): void {
    let place = from;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = this.#entries[above];
      if (parent === undefined || parent.expiresAt <= entry.expiresAt) break;
      this.#settle(parent, place);
      place = above;
    }
    this.#settle(entry, place);
  }

  #sink(entry: Entry, from: number): void {
    let place = from;
    for (;;) {
      const child = this.#earlierChild(place);
      if (child === undefined || child.expiresAt >= entry.expiresAt) break;
      const below = child.place;
      this.#settle(child, place);
      place = below;
    }
    this.#settle(entry, place);
  }

  #earlierChild(place: number): Entry | undefined {
    const left = this.#entries[2 * place + 1];
    const right = this.#entries[2 * place + 2];
    if (left === undefined || right === undefined) return left;
    return right.expiresAt < left.expiresAt ? right : left;
  }

  #settle(entry: Entry, place: number): void {
    this.#entries[place] = entry;
    entry.place = place;
  }
}
