// Patterns with `*`, which stands for any number of any characters; everything else stands for itself. The
// parts between the stars are searched from left to right, each once, so a pattern of many stars costs no
// more than a long text.

export class Glob {
  readonly #first: string;
  readonly #between: readonly string[];
  /** Undefined: there is no star, and the text must be `first`. */
  readonly #last: string | undefined;

  constructor(pattern: string) {
    const [first = '', ...rest] = pattern.split(/\*+/);
    this.#first = first;
    this.#last = rest.at(-1);
    this.#between = rest.slice(0, -1);
  }

  matches(text: string): boolean {
    const last = this.#last;
    if (last === undefined) return text === this.#first;
    const end = text.length - last.length;
    let at = this.#first.length;
    if (at > end || !text.startsWith(this.#first) || !text.endsWith(last)) return false;
    for (const part of this.#between) {
      const found = text.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return at <= end;
  }

  /** Whether it matches some text that begins so. */
  mayBegin(start: string): boolean {
    if (this.#first.startsWith(start)) return true;
    return this.#last !== undefined && start.startsWith(this.#first);
  }

  /** Whether it matches every text that begins so. */
  matchesAllOf(start: string): boolean {
    return this.#last === '' && this.#between.length === 0 && start.startsWith(this.#first);
  }
}
