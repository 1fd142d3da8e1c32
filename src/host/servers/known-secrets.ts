// The values that were read from files and commands for one server. Those of earlier starts are kept
// for a while after they were replaced, because older lines and errors may still contain them.

import type { Secret } from '../../kernel/redactor.ts';

const maxValues = 4_096;
const maxCharacters = 4_194_304;

export class KnownSecrets {
  /** By name and value, the oldest first; at most `maxValues`, and `maxCharacters` in all. */
  readonly #known = new Map<string, Secret>();
  #characters = 0;

  get all(): readonly Secret[] {
    return [...this.#known.values()];
  }

  /** Whether there was a new one among them. */
  add(secrets: readonly Secret[]): boolean {
    const before = this.#known.size;
    const isNew = secrets.some((secret) => !this.#known.has(keyOf(secret)));
    for (const secret of secrets) this.#take(secret);
    // The latest are always kept, however long they are.
    for (const [key, secret] of this.#known) {
      const isTooMuch = this.#known.size > maxValues || this.#characters > maxCharacters;
      if (!isTooMuch || secrets.includes(secret)) break;
      this.#drop(key, secret);
    }
    return isNew || this.#known.size < before;
  }

  #take(secret: Secret): void {
    const key = keyOf(secret);
    const known = this.#known.get(key);
    if (known) this.#drop(key, known);
    this.#known.set(key, secret);
    this.#characters += secret.value.length;
  }

  #drop(key: string, { value }: Secret): void {
    this.#known.delete(key);
    this.#characters -= value.length;
  }
}

function keyOf({ name, value }: Secret): string {
  return `${name}\0${value}`;
}
