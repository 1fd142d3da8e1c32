// How many places of something each owner has, so that one of them cannot have all.

export class OwnerCounts {
  /** By owner; none is zero, so there are at most as many as places are taken. */
  readonly #counts = new Map<string, number>();

  of(owner: string): number {
    return this.#counts.get(owner) ?? 0;
  }

  add(owner: string): void {
    this.#counts.set(owner, this.of(owner) + 1);
  }

  remove(owner: string): void {
    const left = this.of(owner) - 1;
    if (left > 0) this.#counts.set(owner, left);
    else this.#counts.delete(owner);
  }

  /** Who has the most; undefined if nobody has any. */
  largest(): string | undefined {
    let largest: string | undefined;
    for (const [owner, count] of this.#counts) {
      if (largest === undefined || count > this.of(largest)) largest = owner;
    }
    return largest;
  }

  get size(): number {
    return this.#counts.size;
  }
}
