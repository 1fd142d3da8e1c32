// Chance from a seed: sfc32, small, fast and good enough to explore with. Every part of a simulation
// has a dice of its own, forked from the seed's, so that one more throw here does not change what
// happens there and a failing run stays recognisable while its cause is being cut out.

export class Dice {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number, stream = 0) {
    this.#a = seed | 0;
    this.#b = Math.floor(seed / 2 ** 32) ^ 0x9e3779b9;
    this.#c = Math.imul(stream + 1, 0x85ebca6b);
    for (let round = 0; round < 12; round += 1) this.next();
  }

  /** Uniform in [0, 1). */
  next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  }

  chance(probability: number): boolean {
    return probability > 0 && this.next() < probability;
  }

  /** A whole number, both ends included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  pick<T>(items: readonly [T, ...T[]]): T {
    return items[Math.floor(this.next() * items.length)] as T;
  }

  /** A dice of its own for a part of the simulation. */
  fork(stream: number): Dice {
    return new Dice(this.between(0, 2 ** 32 - 1), stream);
  }
}
