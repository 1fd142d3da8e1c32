// What has been opened in a store, so that the same word and name are the same object again, and cannot be
// opened with two durabilities.

import type { Durability } from './contract/durability.ts';
import { assertStoreName } from './store.ts';

type Word = 'records' | 'log' | 'queue' | 'counter';

export class OpenedWords {
  /** By word and name: at most one for each that is written in the source. */
  readonly #opened = new Map<string, { readonly durability: Durability; readonly part: unknown }>();

  open<T>(
    word: Word,
    name: string,
    { durability }: { readonly durability: Durability },
    make: () => T,
  ): T {
    assertStoreName(name);
    const place = `${word} ${name}`;
    const before = this.#opened.get(place);
    if (before !== undefined && before.durability !== durability) {
      throw new TypeError(`${place} is ${before.durability}, and cannot be ${durability}, too`);
    }
    const part = (before?.part as T | undefined) ?? make();
    this.#opened.set(place, { durability, part });
    return part;
  }

  clear(): void {
    this.#opened.clear();
  }
}
