// Letters that wait, in the order of their numbers. Taking the first and adding the last take the same time
// however many wait.

import type { Held } from './held.ts';

/** Places of letters that are gone, before the list is made anew. */
const maxGone = 1_024;

export class LetterQueue {
  /** At most the letters of one shelf, and `maxGone` places before them. */
  #list: Held[] = [];
  #head = 0;

  get size(): number {
    return this.#list.length - this.#head;
  }

  get first(): Held | undefined {
    return this.#list[this.#head];
  }

  /** The newest one. */
  push(held: Held): void {
    this.#list.push(held);
  }

  dropFirst(): void {
    this.#head += 1;
    if (this.#head < maxGone || this.#head * 2 < this.#list.length) return;
    this.#list = this.#list.slice(this.#head);
    this.#head = 0;
  }

  /** Letters that come back, before newer ones. */
  putBack(letters: readonly Held[]): void {
    const all = [...letters, ...this.#list.slice(this.#head)];
    this.#replace(all.sort((one, other) => one.number - other.number));
  }

  /** Whether it was there. It is one of the newest as a rule. */
  remove(held: Held): boolean {
    const at = this.#list.lastIndexOf(held);
    if (at < this.#head) return false;
    this.#list.splice(at, 1);
    return true;
  }

  /** Removes and returns those for which this is true. */
  takeOut(isOut: (held: Held) => boolean): readonly Held[] {
    const all = this.#list.slice(this.#head);
    const out = all.filter(isOut);
    if (out.length > 0) this.#replace(all.filter((held) => !isOut(held)));
    return out;
  }

  #replace(list: Held[]): void {
    this.#list = list;
    this.#head = 0;
  }
}
