// How many places of something each owner has, so that one of them cannot have all: the share of one
// owner is three quarters of the places. Whose places these are is decided by the caller; who has no such limit
// (the local user) is `undefined` here, and is not counted.

/** How many of so many places one owner may have. */
export function shareOf(places: number): number {
  return Math.max(1, Math.floor((places * 3) / 4));
}

export class OwnerCounts {
  /** By owner; none is zero, so there are at most as many as places are taken. */
  readonly #counts = new Map<string, number>();

  of(owner: string): number {
    return this.#counts.get(owner) ?? 0;
  }

  add(owner: string, places = 1): void {
    this.#counts.set(owner, this.of(owner) + places);
  }

  remove(owner: string, places = 1): void {
    const left = this.of(owner) - places;
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
