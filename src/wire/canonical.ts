// One text for all spellings of the same JSON value, for keys of caches and idempotency records.
// Keys are sorted and strings are normalised, but numbers keep their spelling: two ids above 2^53
// must never meet, and 1.0 may mean something else than 1 to the server. A value in which some
// object has a key twice has no canonical text, because peers differ in which of the two they
// read. Expects JSON that the scanner or `checkValue` has accepted.

import { defaultMaxDepth } from './grammar.ts';
import type { Span } from './span.ts';

/** The canonical text of the value; null if it has none. Equal texts mean equal token trees. */
export function canonicalText(bytes: Buffer, span?: Span): string | null {
  return new CanonicalWriter(bytes.toString('utf8', span?.start, span?.end)).value(0);
}

class CanonicalWriter {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): string | null {
    if (depth > defaultMaxDepth) return null;
    switch (this.#peek()) {
      case '{':
        return this.#object(depth + 1);
      case '[':
        return this.#array(depth + 1);
      case '"':
        return canonicalString(this.#string());
      default:
        return this.#word();
    }
  }

  #object(depth: number): string | null {
    const members = new Map<string, string>();
    while (!this.#closes('}')) {
      this.#peek();
      const token = this.#string();
      const key = decodedString(token);
      this.#peek();
      this.#at++; // the colon
      const value = this.value(depth);
      if (value === null || members.has(key)) return null;
      members.set(key, `${canonicalString(token)}:${value}`);
    }
    const sorted = [...members.keys()].sort(); // by code unit
    return `{${sorted.map((key) => members.get(key)).join(',')}}`;
  }

  #array(depth: number): string | null {
    const elements: string[] = [];
    while (!this.#closes(']')) {
      const element = this.value(depth);
      if (element === null) return null;
      elements.push(element);
    }
    return `[${elements.join(',')}]`;
  }

  /** Steps over the opening bracket or a comma, and over the closing one if that comes next. */
  #closes(closing: string): boolean {
    if (this.#peek() !== closing) this.#at++;
    if (this.#peek() !== closing) return false;
    this.#at++;
    return true;
  }

  /** The next character that is not space. */
  #peek(): string {
    while (isSpace(this.#text.charCodeAt(this.#at))) this.#at++;
    return this.#text.charAt(this.#at);
  }

  #string(): string {
    const start = this.#at;
    let at = start + 1;
    while (at < this.#text.length && this.#text.charCodeAt(at) !== 0x22) {
      at += this.#text.charCodeAt(at) === 0x5c ? 2 : 1;
    }
    this.#at = at + 1;
    return this.#text.slice(start, at + 1);
  }

  /** A number or a literal: up to what cannot belong to one. */
  #word(): string {
    const start = this.#at;
    while (this.#at < this.#text.length && !isDelimiter(this.#text.charCodeAt(this.#at))) {
      this.#at++;
    }
    return this.#text.slice(start, this.#at);
  }
}

/** Without a backslash a token is canonical as it stands; else decoding and encoding makes it so. */
function canonicalString(token: string): string {
  return token.includes('\\') ? JSON.stringify(JSON.parse(token)) : token;
}

function decodedString(token: string): string {
  return token.includes('\\') ? (JSON.parse(token) as string) : token.slice(1, -1);
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** Space, a comma or a closing bracket. */
function isDelimiter(code: number): boolean {
  return isSpace(code) || code === 0x2c || code === 0x5d || code === 0x7d;
}
