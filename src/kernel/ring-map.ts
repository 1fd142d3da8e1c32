// A table for short-lived entries such as requests. It replaces a Map, because with a Map most of
// the objects of a call survived the quick rounds of the garbage collector until the next full one
// (bench/README.md has the figures). The likely reason: when its inner table is full, the engine
// creates a new one, and the old one still references it and everything that was in it. So keys
// that are whole numbers, which nearly all ids are, have a fixed slot in a ring; a Map holds the
// rest: other keys, and numbers whose slot is taken.

export class RingMap<Key, Value> {
  readonly #places: number;
  #keys: (Key | undefined)[] = [];
  #values: (Value | undefined)[] = [];
  #others: Map<Key, Value> | undefined;
  #size = 0;

  /** The number of slots; the ring is created with the first key. */
  constructor(places: number) {
    this.#places = places;
  }

  get size(): number {
    return this.#size;
  }

  get(key: Key): Value | undefined {
    const place = this.#placeOf(key);
    if (place >= 0 && this.#keys[place] === key) return this.#values[place];
    return this.#others?.get(key);
  }

  has(key: Key): boolean {
    return this.get(key) !== undefined;
  }

  /** A value is never undefined. */
  set(key: Key, value: Value): void {
    if (!this.has(key)) this.#size += 1;
    if (this.#keys.length === 0) this.#makeRing();
    const place = this.#placeOf(key);
    const isFree = place >= 0 && (this.#keys[place] === undefined || this.#keys[place] === key);
    if (isFree && !this.#others?.has(key)) {
      this.#keys[place] = key;
      this.#values[place] = value;
      return;
    }
    this.#others ??= new Map();
    this.#others.set(key, value);
  }

  delete(key: Key): boolean {
    const place = this.#placeOf(key);
    if (place >= 0 && this.#keys[place] === key) {
      this.#keys[place] = undefined;
      this.#values[place] = undefined;
    } else if (!this.#others?.delete(key)) return false;
    this.#size -= 1;
    return true;
  }

  /**
   * In no particular order; entries that are added or removed meanwhile may or may not be included.
   */
  values(): readonly Value[] {
    if (this.#size === 0) return [];
    const inRing = this.#values.filter((value) => value !== undefined) as Value[];
    return [...inRing, ...(this.#others?.values() ?? [])];
  }

  clear(): void {
    this.#keys = [];
    this.#values = [];
    this.#others = undefined;
    this.#size = 0;
  }

  #makeRing(): void {
    this.#keys = new Array(this.#places).fill(undefined);
    this.#values = new Array(this.#places).fill(undefined);
  }

  /** -1 for a key without a slot. */
  #placeOf(key: unknown): number {
    const isPlain = typeof key === 'number' && Number.isSafeInteger(key) && key >= 0;
    return isPlain ? key % this.#places : -1;
  }
}
