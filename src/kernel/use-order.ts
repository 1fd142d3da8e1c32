// Items in the order of their last use, the longest unused first. Each item has a node in a linked
// list that it keeps for its whole lifetime, so that using it moves two or three pointers and
// allocates nothing. A Map from which a key is removed and added again on every call does allocate
// (see ring-map).

export class UsePlace<T> {
  readonly thing: T;
  before: UsePlace<T> | undefined;
  after: UsePlace<T> | undefined;

  constructor(thing: T) {
    this.thing = thing;
  }
}

export class UseOrder<T> {
  #first: UsePlace<T> | undefined;
  #last: UsePlace<T> | undefined;

  /** The one that has not been used for longest. */
  get first(): T | undefined {
    return this.#first?.thing;
  }

  /** Puts it last; it counts as used now. */
  add(thing: T): UsePlace<T> {
    const place = new UsePlace(thing);
    this.#append(place);
    return place;
  }

  /** Marks it as used now and moves it to the end. */
  used(place: UsePlace<T>): void {
    if (place === this.#last) return;
    this.remove(place);
    this.#append(place);
  }

  /** A removed node must not be used again, nor reference others. */
  remove(place: UsePlace<T>): void {
    const { before, after } = place;
    if (before) before.after = after;
    else if (this.#first === place) this.#first = after;
    if (after) after.before = before;
    else if (this.#last === place) this.#last = before;
    place.before = undefined;
    place.after = undefined;
  }

  /** The longest unused first. The one that is given out may be removed meanwhile. */
  *[Symbol.iterator](): Generator<T, void, void> {
    let place = this.#first;
    while (place) {
      const next: UsePlace<T> | undefined = place.after;
      yield place.thing;
      place = next;
    }
  }

  #append(place: UsePlace<T>): void {
    place.before = this.#last;
    if (this.#last) this.#last.after = place;
    else this.#first = place;
    this.#last = place;
  }
}
