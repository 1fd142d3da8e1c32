// The secrets of all servers together, for text of which nobody knows whose secret it could have. One search
// finds all of them, so the work does not depend on which server a text is about, or whether it is about one.

import { Redactor } from '../../kernel/redactor.ts';

export class AllSecrets {
  readonly #redactors: () => readonly Redactor[];
  /** Those that are joined; one for each server. */
  #parts: readonly Redactor[] = [];
  #joined = new Redactor();

  /** A server that learns a secret has another redactor from then on. */
  constructor(redactors: () => readonly Redactor[]) {
    this.#redactors = redactors;
  }

  get redactor(): Redactor {
    const parts = this.#redactors();
    const isSame =
      parts.length === this.#parts.length && parts.every((part, at) => part === this.#parts[at]);
    if (!isSame) {
      this.#parts = parts;
      this.#joined = Redactor.joined(parts);
    }
    return this.#joined;
  }
}
