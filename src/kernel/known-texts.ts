// Finds all occurrences of many known texts in a text at once. The time depends on the length of the
// text and hardly on how many are known: most places are passed over by a look at three characters,
// and at the others the longest known text that begins there is found by bisection.

export class KnownTexts {
  /** Sorted, each once. */
  readonly #known: readonly string[];
  /** For each, the index of the longest other one that it begins with; -1 if there is none. */
  readonly #shorter: readonly number[];
  readonly #width: number;
  readonly #beginnings: ReadonlySet<string>;
  /** By a hash of the first characters: whether a known text may begin so. */
  readonly #filter = new Uint8Array(65_536);
  readonly #longest: number;

  /** No text is shorter than `width`, which is at least 3. */
  constructor(texts: Iterable<string>, width: number) {
    this.#known = [...new Set(texts)].sort(byCodeUnits);
    this.#width = width;
    this.#beginnings = new Set(this.#known.map((text) => text.slice(0, width)));
    let longest = 0;
    const open: number[] = [];
    this.#shorter = this.#known.map((text, at) => {
      longest = Math.max(longest, text.length);
      while (open.length > 0 && !text.startsWith(this.#at(open.at(-1)))) open.pop();
      const shorter = open.at(-1) ?? -1;
      open.push(at);
      return shorter;
    });
    this.#longest = longest;
    for (const text of this.#beginnings) this.#filter[hashAt(text, 0, width)] = 1;
  }

  /** Calls `found` with each place at which a known text begins, and the longest one there. */
  search(text: string, found: (at: number, known: string) => void): void {
    const last = text.length - this.#width;
    for (let at = 0; at <= last; at += 1) {
      if (this.#filter[hashAt(text, at, this.#width)] === 0) continue;
      if (!this.#beginnings.has(text.slice(at, at + this.#width))) continue;
      const known = this.#longestAt(text, at);
      if (known !== undefined) found(at, known);
    }
  }

  /** Where a known text may begin that goes on behind the end of this one; its length if nowhere. */
  begunAtEnd(text: string): number {
    for (let at = Math.max(0, text.length - this.#longest); at < text.length; at += 1) {
      const rest = text.slice(at);
      if (this.#at(this.#firstAfter(rest)).startsWith(rest)) return at;
    }
    return text.length;
  }

  #longestAt(text: string, at: number): string | undefined {
    const rest = text.slice(at, at + this.#longest);
    // The longest one that `rest` begins with is the last one before it, or one that this begins with.
    let index = this.#firstAfter(rest, true) - 1;
    while (index >= 0 && !rest.startsWith(this.#at(index))) index = this.#shorter[index] ?? -1;
    return index < 0 ? undefined : this.#at(index);
  }

  /** The first one that is not before this text in the order, or is behind it. */
  #firstAfter(text: string, isBehind = false): number {
    let [low, high] = [0, this.#known.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const known = this.#at(middle);
      if (known < text || (isBehind && known === text)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #at(index = -1): string {
    return this.#known[index] ?? '';
  }
}

function hashAt(text: string, at: number, width: number): number {
  const [first, second] = [text.charCodeAt(at), text.charCodeAt(at + 2)];
  return (first * 961 + second * 31 + text.charCodeAt(at + width - 1)) & 0xffff;
}

/** The order of the operator `<`. */
function byCodeUnits(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
