// One text for all spellings of the same JSON value, for keys of caches and idempotency records.
// Keys are sorted and strings are normalised, but numbers keep their spelling: two ids above 2^53
// must not become equal, and 1.0 may mean something else than 1 to the server. A value in which
// some object has a duplicate key has no canonical text, because parsers differ in which of the two
// they use. The JSON must have been accepted by the scanner or `checkValue`.

import { defaultMaxDepth } from './grammar.ts';
import type { Span } from './span.ts';

/** The canonical text of the value; null if it has none. Equal texts mean equal token trees. */
export function canonicalText(bytes: Buffer, span?: Span): string | null {
  return new CanonicalWriter(bytes.toString('utf8', span?.start, span?.end)).value(0);
}

const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

class CanonicalWriter {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): string | null {
    if (depth > defaultMaxDepth) return null;
    switch (this.#peek()) {
      case openBrace:
        return this.#object(depth + 1);
      case openBracket:
        return this.#array(depth + 1);
      case quote:
        return this.#string().canonical;
      default:
        return this.#word();
    }
  }

  #object(depth: number): string | null {
    const members: Member[] = [];
    let isSorted = true;
    while (!this.#closes(closeBrace)) {
      const { decoded, canonical } = this.#string();
      this.#peek();
      this.#at++; // the colon
      const value = this.value(depth);
      if (value === null) return null;
      const previous = members[members.length - 1];
      if (previous !== undefined && previous.key >= decoded) isSorted = false;
      members.push({ key: decoded, text: `${canonical}:${value}` });
    }
    if (!isSorted) {
      members.sort(byKey);
      if (members.some((member, index) => member.key === members[index - 1]?.key)) return null;
    }
    return `{${members.map((member) => member.text).join(',')}}`;
  }

  #array(depth: number): string | null {
    const elements: string[] = [];
    while (!this.#closes(closeBracket)) {
      const element = this.value(depth);
      if (element === null) return null;
      elements.push(element);
    }
    return `[${elements.join(',')}]`;
  }

  /** Steps over the opening bracket or a comma, and over the closing one if that comes next. */
  #closes(closing: number): boolean {
    if (this.#peek() !== closing) this.#at++;
    if (this.#peek() !== closing) return this.#at >= this.#text.length;
    this.#at++;
    return true;
  }

  /** The next character that is not space. */
  #peek(): number {
    while (isSpace(this.#text.charCodeAt(this.#at))) this.#at++;
    return this.#text.charCodeAt(this.#at);
  }

  /** Without escapes a token is canonical already; otherwise it is decoded and encoded again. */
  #string(): { readonly decoded: string; readonly canonical: string } {
    const text = this.#text;
    const start = this.#at;
    let at = start + 1;
    let isEscaped = false;
    while (at < text.length && text.charCodeAt(at) !== quote) {
      if (text.charCodeAt(at) === backslash) {
        isEscaped = true;
        at++;
      }
      at++;
    }
    this.#at = at + 1;
    const token = text.slice(start, at + 1);
    if (!isEscaped) return { decoded: text.slice(start + 1, at), canonical: token };
    const decoded = JSON.parse(token) as string;
    return { decoded, canonical: JSON.stringify(decoded) };
  }

  /** A number or a literal: up to a character that cannot be part of one. */
  #word(): string {
    const text = this.#text;
    const start = this.#at;
    let at = start;
    while (at < text.length && !isDelimiter(text.charCodeAt(at))) at++;
    this.#at = at;
    return text.slice(start, at);
  }
}

interface Member {
  readonly key: string;
  readonly text: string;
}

/** By code unit, as strings compare. */
function byKey(one: Member, other: Member): number {
  if (one.key === other.key) return 0;
  return one.key < other.key ? -1 : 1;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** Space, a comma or a closing bracket. */
function isDelimiter(code: number): boolean {
  return isSpace(code) || code === 0x2c || code === closeBracket || code === closeBrace;
}
