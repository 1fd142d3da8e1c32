// The texts of the members of a JSON object and of the elements of an array, as they were written:
// parsing and writing again would hide a changed number, escape or order of keys. This is a reader of
// its own, on purpose apart from the scanner that it is used to judge. The text has to be JSON.

/** Each member's value as it was written, by its key. */
export function membersOf(object: string): ReadonlyMap<string, string> {
  const members = new Map<string, string>();
  const walk = new Walk(object);
  walk.open('{');
  while (!walk.closes('}')) {
    const key = JSON.parse(walk.value()) as string;
    walk.skip(':');
    members.set(key, walk.value());
  }
  return members;
}

export function elementsOf(array: string): readonly string[] {
  const elements: string[] = [];
  const walk = new Walk(array);
  walk.open('[');
  while (!walk.closes(']')) elements.push(walk.value());
  return elements;
}

/** The object with the value of one member replaced, and every other character as it was. */
export function withMember(object: string, key: string, value: string): string {
  const walk = new Walk(object);
  walk.open('{');
  while (!walk.closes('}')) {
    const found = JSON.parse(walk.value()) as string;
    walk.skip(':');
    const from = walk.next();
    const old = walk.value();
    if (found === key) return object.slice(0, from) + value + object.slice(from + old.length);
  }
  return object;
}

/** The object without one member and one comma beside it, and every other character as it was. */
export function withoutMember(object: string, key: string): string {
  const walk = new Walk(object);
  walk.open('{');
  let from = walk.next();
  while (!walk.closes('}')) {
    const isFirst = object[from] !== ',';
    const found = JSON.parse(walk.value()) as string;
    walk.skip(':');
    walk.value();
    const to = walk.next();
    if (found === key) {
      const end = isFirst && object[to] === ',' ? to + 1 : to;
      return object.slice(0, from) + object.slice(end);
    }
    from = to;
  }
  return object;
}

class Walk {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  open(bracket: string): void {
    this.skip(bracket);
  }

  /** True at the closing bracket; otherwise the comma before the next part is behind us. */
  closes(bracket: string): boolean {
    if (this.#text[this.next()] === ',') this.#at += 1;
    return this.#text[this.next()] === bracket;
  }

  skip(character: string): void {
    if (this.#text[this.next()] !== character) {
      throw new Error(`${character} expected at ${this.#at} of ${this.#text.slice(0, 200)}`);
    }
    this.#at += 1;
  }

  /** Where the next character is that is not space. */
  next(): number {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at += 1;
    return this.#at;
  }

  value(): string {
    const from = this.next();
    const first = this.#text[from];
    if (first === '"') this.#string();
    else if (first === '{' || first === '[') this.#nested();
    else while (!/[\s,\]}]/.test(this.#text[this.#at] ?? ',')) this.#at += 1;
    if (this.#at === from) throw new Error(`a value expected at ${from}`);
    return this.#text.slice(from, this.#at);
  }

  #string(): void {
    this.#at += 1;
    while (this.#text[this.#at] !== '"') {
      if (this.#at >= this.#text.length) throw new Error('a string without an end');
      this.#at += this.#text[this.#at] === '\\' ? 2 : 1;
    }
    this.#at += 1;
  }

  #nested(): void {
    let depth = 0;
    do {
      const character = this.#text[this.#at];
      if (character === undefined) throw new Error('an object or array without an end');
      if (character === '"') {
        this.#string();
        continue;
      }
      if (character === '{' || character === '[') depth += 1;
      if (character === '}' || character === ']') depth -= 1;
      this.#at += 1;
    } while (depth > 0);
  }
}
