// Chance that can be repeated: every lane of clients and every hand that does harm throws dice of its
// own, made from the seed of the run and its name. What they throw does not depend on who is faster.

export class Dice {
  readonly #seed: string;
  #state: number;

  constructor(seed: string) {
    this.#seed = seed;
    this.#state = hash(seed);
  }

  /** Dice of somebody else in the same run. */
  of(name: string): Dice {
    return new Dice(`${this.#seed}/${name}`);
  }

  /** From 0 up to 1, which is never reached. */
  throw(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  chance(probability: number): boolean {
    return this.throw() < probability;
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.throw() * (most - least + 1));
  }

  pick<T>(list: readonly T[]): T {
    const one = list[Math.floor(this.throw() * list.length)];
    if (one === undefined) throw new Error('there is nothing to pick from');
    return one;
  }

  /** One of them, the heavier the likelier. */
  weighed<T extends { readonly weight: number }>(list: readonly T[]): T {
    let left = this.throw() * list.reduce((sum, { weight }) => sum + weight, 0);
    for (const one of list) {
      left -= one.weight;
      if (left < 0) return one;
    }
    return this.pick(list);
  }
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const byte of Buffer.from(text)) value = Math.imul(value ^ byte, 0x01000193);
  return value | 0;
}
