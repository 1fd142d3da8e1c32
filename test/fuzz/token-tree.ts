// The oracle's own look at a document: what fatal UTF-8 decoding and JSON.parse say of it, and, where
// they accept it, a tree of its tokens. JSON.parse forgets what matters here (which keys stood twice,
// how a number was spelled, where a value stood), so the tree is read once more from the decoded
// text, in the plainest way there is. It may be plain because JSON.parse has accepted the text.

export type Judged =
  | { readonly kind: 'not-utf8' }
  | { readonly kind: 'not-json'; readonly text: string }
  | {
      readonly kind: 'json';
      readonly text: string;
      readonly value: unknown;
      /** Arrays and objects inside each other. */
      readonly depth: number;
      /** Absent where the document is deeper than any limit here, which would cost us our stack. */
      readonly root: TokenNode | undefined;
    };

export interface TokenNode {
  readonly kind: 'object' | 'array' | 'string' | 'word';
  /** Offsets into the text, without the space around. */
  readonly start: number;
  readonly end: number;
  readonly source: string;
  readonly members: readonly TokenMember[];
  readonly elements: readonly TokenNode[];
}

export interface TokenMember {
  readonly key: string;
  /** The inside of the key as it is written. */
  readonly spelling: string;
  readonly value: TokenNode;
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const deepestTree = 600;

export function judged(bytes: Buffer): Judged {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    return { kind: 'not-utf8' };
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { kind: 'not-json', text };
  }
  const depth = depthOf(text);
  const root = depth <= deepestTree ? new TreeReader(text).read() : undefined;
  return { kind: 'json', text, value, depth, root };
}

/** Counts brackets outside of strings: enough for a text that is JSON. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [token] of text.matchAll(brackets)) {
    if (token === '{' || token === '[') depth += 1;
    else if (token === '}' || token === ']') depth -= 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

/** Strings are among them so that brackets inside of them are passed over. */
const brackets = /[[{}\]]|"[^"\\]*(?:\\.[^"\\]*)*"/g;
const space = /[ \t\r\n]*/y;
const string = /"[^"\\]*(?:\\.[^"\\]*)*"/y;
const word = /[^ \t\r\n,\]}]+/y;

class TreeReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): TokenNode {
    this.#skip(space);
    const start = this.#at;
    const first = this.#text[start];
    const members: TokenMember[] = [];
    const elements: TokenNode[] = [];
    let kind: TokenNode['kind'];
    if (first === '{') {
      kind = 'object';
      this.#each('}', () => members.push(this.#member()));
    } else if (first === '[') {
      kind = 'array';
      this.#each(']', () => elements.push(this.read()));
    } else if (first === '"') {
      kind = 'string';
      this.#skip(string);
    } else {
      kind = 'word';
      this.#skip(word);
    }
    const end = this.#at;
    return { kind, start, end, source: this.#text.slice(start, end), members, elements };
  }

  #member(): TokenMember {
    this.#skip(space);
    const start = this.#at;
    this.#skip(string);
    const quoted = this.#text.slice(start, this.#at);
    this.#skip(space);
    this.#at += 1;
    const value = this.read();
    return { key: JSON.parse(quoted) as string, spelling: quoted.slice(1, -1), value };
  }

  #each(closing: string, read: () => void): void {
    this.#at += 1;
    this.#skip(space);
    while (this.#text[this.#at] !== closing) {
      read();
      this.#skip(space);
      if (this.#text[this.#at] === ',') this.#at += 1;
      this.#skip(space);
    }
    this.#at += 1;
  }

  #skip(token: RegExp): void {
    token.lastIndex = this.#at;
    token.test(this.#text);
    this.#at = token.lastIndex;
  }
}
