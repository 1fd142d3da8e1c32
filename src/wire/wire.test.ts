// The promises of the whole folder, as properties over generated documents. A document is a tree of
// tokens that remembers how its numbers are spelled, and is written down in a random spelling: with
// space, escapes and key order as a seed decides.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalText } from './canonical.ts';
import { knownKeys } from './envelope-keys.ts';
import { checkValue } from './json-text.ts';
import { scanMessage } from './scan.ts';
import { oneLine } from './splice.ts';
import { WireError } from './wire-error.ts';

type Tree =
  | { readonly kind: 'word'; readonly text: string }
  | { readonly kind: 'string'; readonly text: string }
  | { readonly kind: 'array'; readonly elements: readonly Tree[] }
  | { readonly kind: 'object'; readonly members: readonly (readonly [string, Tree])[] };

const number = fc.oneof(
  fc.constantFrom('9007199254740993', '1.0', '1', '1e400', '-0', '0', '1E+2', '2.0'),
  fc.stringMatching(/^-?(0|[1-9]\d{0,20})(\.\d{1,5})?([eE][+-]?\d{1,3})?$/),
);
const word = fc.oneof(number, fc.constantFrom('true', 'false', 'null'));
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.string({
    unit: fc.constantFrom('"', '\\', '/', '\n', '\ud800', '\udc00', 'a', 'ü', '🦀', '\x1f', '\x7f'),
  }),
  fc.integer({ min: 150, max: 600 }).map((length) => 'long '.repeat(length / 5)),
);
const key = fc.oneof(fc.constantFrom('a', 'b', 'A', '', 'a/b', '__proto__', 'name', '_meta'), text);

const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    word.map((spelling): Tree => ({ kind: 'word', text: spelling })),
    text.map((value): Tree => ({ kind: 'string', text: value })),
    fc.array(tie('tree'), { maxLength: 4 }).map((elements): Tree => ({ kind: 'array', elements })),
    fc
      .array(fc.tuple(key, tie('tree')), { maxLength: 5 })
      .map((members): Tree => ({ kind: 'object', members })),
  ),
}));

/** Writes a tree down in one of its many spellings. */
class Writer {
  #state: number;
  readonly #key: (name: string) => string;

  constructor(seed: number, keys: 'any' | 'plain' = 'any') {
    this.#state = seed >>> 0;
    this.#key = keys === 'any' ? (name) => this.string(name) : (name) => JSON.stringify(name);
  }

  write(document: Tree): string {
    return this.space() + this.value(document) + this.space();
  }

  value(document: Tree): string {
    switch (document.kind) {
      case 'word':
        return document.text;
      case 'string':
        return this.string(document.text);
      case 'array':
        return `[${this.list(document.elements.map((element) => this.value(element)))}]`;
      case 'object': {
        const members = document.members.map(([name, value]) => {
          const written = `${this.#key(name)}${this.space()}:${this.space()}${this.value(value)}`;
          return [this.pick(1000), written] as const;
        });
        return `{${this.list(members.sort((a, b) => a[0] - b[0]).map((member) => member[1]))}}`;
      }
    }
  }

  list(parts: readonly string[]): string {
    return parts.map((part) => this.space() + part + this.space()).join(',') || this.space();
  }

  space(): string {
    return ['', '', '', ' ', '\n', '\r\n', '\t', '  \n'][this.pick(8)] as string;
  }

  string(value: string): string {
    const units = [...value].map((unit) => (this.pick(8) === 0 ? escaped(unit) : this.plain(unit)));
    return `"${units.join('')}"`;
  }

  plain(unit: string): string {
    if (unit === '/' && this.pick(2) === 0) return '\\/';
    return JSON.stringify(unit).slice(1, -1);
  }

  pick(count: number): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return (this.#state >>> 8) % count;
  }
}

function escaped(unit: string): string {
  const codes = Array.from({ length: unit.length }, (_, index) => unit.charCodeAt(index));
  return codes.map((code) => `\\u${code.toString(16).padStart(4, '0')}`).join('');
}

const seed = fc.noShrink(fc.integer({ min: 0, max: 0xffffffff }));
const document = fc.tuple(tree, seed).map(([root, n]) => Buffer.from(new Writer(n).write(root)));

/** A valid document with a few bytes changed: mostly broken, sometimes not. */
const mutated = fc
  .tuple(
    document,
    fc.array(
      fc.tuple(
        fc.nat(),
        fc.nat(2),
        fc.oneof(fc.nat(255), fc.constantFrom(...Buffer.from('"\\{}[]:,0-.eEtn\n\t \0'))),
      ),
    ),
  )
  .map(([bytes, changes]) => {
    const out = [...bytes];
    for (const [place, deed, byte] of changes.slice(0, 3)) {
      const at = place % (out.length + 1);
      if (deed === 0) out.splice(at, 1);
      else if (deed === 1) out.splice(at, 0, byte);
      else out[at] = byte;
    }
    return Buffer.from(out);
  });

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The oracle: what V8 says. */
function parsedByOracle(bytes: Buffer): { value: unknown } | null {
  try {
    return { value: JSON.parse(decoder.decode(bytes)) };
  } catch {
    return null;
  }
}

function refusalOf(run: () => unknown): WireError | null {
  try {
    run();
    return null;
  } catch (error) {
    if (error instanceof WireError) return error;
    throw error;
  }
}

describe('the grammar', () => {
  test('accepts every document there is', () => {
    fc.assert(
      fc.property(document, (bytes) => {
        expect(refusalOf(() => checkValue(bytes))).toBeNull();
      }),
      { numRuns: 1000 },
    );
  });

  test('agrees with TextDecoder and JSON.parse about every broken one', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          mutated,
          fc.uint8Array({ maxLength: 8 }).map((raw) => Buffer.from(raw)),
        ),
        (bytes) => {
          expect(refusalOf(() => checkValue(bytes)) === null).toBe(parsedByOracle(bytes) !== null);
        },
      ),
      { numRuns: 2500 },
    );
  });

  test('agrees about every sequence of up to five tokens', () => {
    const tokens = ['{', '}', '[', ']', ':', ',', '"a"', '1'];
    let sequences = [''];
    for (let length = 1; length <= 5; length++) {
      sequences = sequences.flatMap((start) => tokens.map((token) => start + token));
      const disputed = sequences.filter((sequence) => {
        const bytes = Buffer.from(sequence);
        return (refusalOf(() => checkValue(bytes)) === null) !== (parsedByOracle(bytes) !== null);
      });
      expect(disputed).toEqual([]);
    }
  });

  test('agrees about every place where a document can be cut', () => {
    fc.assert(
      fc.property(document, fc.nat(), (bytes, place) => {
        const cut = bytes.subarray(0, place % (bytes.length + 1));
        expect(refusalOf(() => checkValue(cut)) === null).toBe(parsedByOracle(cut) !== null);
      }),
      { numRuns: 1000 },
    );
  });
});

const string = (value: string): Tree => ({ kind: 'string', text: value });

/** Members of a message: mostly right, sometimes missing, wrong or twice. */
const carried = fc.oneof(
  tree,
  fc
    .uniqueArray(fc.tuple(fc.constantFrom(...knownKeys.slice(6, 14), '_meta', 'x'), tree), {
      selector: ([name]) => name,
    })
    .map((members): Tree => ({ kind: 'object', members })),
);
const idTree = fc.oneof(
  fc.integer().map((n): Tree => ({ kind: 'word', text: String(n) })),
  text.map(string),
  tree,
);
const part = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.constant('id'), idTree) },
  { weight: 4, arbitrary: fc.tuple(fc.constant('method'), text.map(string)) },
  {
    weight: 6,
    arbitrary: fc.tuple(fc.constantFrom('params', 'params', 'result', 'error'), carried),
  },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom('jsonrpc', 'method'), tree) },
  { weight: 1, arbitrary: fc.tuple(key, tree) },
);
const messageTree = fc
  .array(part, { maxLength: 4 })
  .map((members): Tree => ({ kind: 'object', members: [['jsonrpc', string('2.0')], ...members] }));

/** The rules for a message, told once more, on the tree instead of the bytes. */
function isSound(root: Tree): boolean {
  if (root.kind !== 'object' || hasTwins(root, ['params', 'result', 'error'])) return false;
  if (root.members.some(([name]) => JSON.stringify(name) !== `"${name}"`)) return false;
  const parts = new Map(root.members);
  const id = parts.get('id');
  const hasId = id?.kind === 'string' || (id?.kind === 'word' && isIdSpelling(id.text));
  if (parts.has('method')) {
    if (parts.get('method')?.kind !== 'string') return false;
    return !parts.has('result') && !parts.has('error') && (id === undefined || hasId);
  }
  if (parts.has('result')) return !parts.has('error') && hasId;
  const isNull = id?.kind === 'word' && id.text === 'null';
  return parts.has('error') && (id === undefined || isNull || hasId);
}

function isIdSpelling(spelling: string): boolean {
  return String(Number(spelling)) === spelling && Number.isSafeInteger(Number(spelling));
}

/** Does the object, or one that is read below it, have a key twice? */
function hasTwins(root: Tree, below: readonly string[]): boolean {
  if (root.kind !== 'object') return false;
  if (new Set(root.members.map(([name]) => name)).size < root.members.length) return true;
  return root.members.some(([name, value]) => {
    if (!below.includes(name)) return false;
    return hasTwins(value, name === 'params' || name === 'result' ? ['_meta'] : []);
  });
}

describe('scanMessage', () => {
  test('says -32700 exactly if the bytes are not JSON', () => {
    const written = fc
      .tuple(messageTree, seed)
      .map(([root, n]) => Buffer.from(new Writer(n).write(root)));
    fc.assert(
      fc.property(fc.oneof(written, document, mutated), (bytes) => {
        const isBroken = refusalOf(() => scanMessage(bytes))?.rpcCode === -32700;
        expect(isBroken).toBe(parsedByOracle(bytes) === null);
      }),
      { numRuns: 1000 },
    );
  });

  test('accepts exactly the sound messages, if their keys are plain', () => {
    fc.assert(
      fc.property(messageTree, seed, (root, n) => {
        const bytes = Buffer.from(new Writer(n, 'plain').write(root));
        const refusal = refusalOf(() => scanMessage(bytes));
        // The one spelling of a sound value that is refused: "2.0" with an escape.
        fc.pre(refusal?.reason !== 'bad-version');
        expect(refusal === null).toBe(isSound(root));
      }),
      { numRuns: 1000 },
    );
  });

  test('accepts only sound messages, however their keys are written', () => {
    fc.assert(
      fc.property(messageTree, seed, (root, n) => {
        const bytes = Buffer.from(new Writer(n).write(root));
        const refusal = refusalOf(() => scanMessage(bytes));
        if (!isSound(root)) expect(refusal?.rpcCode).toBe(-32600);
        else expect([undefined, 'escaped-key', 'bad-version']).toContain(refusal?.reason);
      }),
      { numRuns: 1000 },
    );
  });

  test('reads what JSON.parse reads, and on one line the message is the same', () => {
    fc.assert(
      fc.property(messageTree, seed, (root, n) => {
        const bytes = Buffer.from(new Writer(n, 'plain').write(root));
        fc.pre(refusalOf(() => scanMessage(bytes)) === null);
        const message = scanMessage(bytes);
        const value = parsedByOracle(bytes)?.value as Record<string, unknown>;
        expect(message.id).toBe(value['id']);
        expect(message.method).toBe(value['method']);
        for (const name of ['params', 'result', 'error'] as const) {
          const span = message[name];
          const own = span && parsedByOracle(bytes.subarray(span.start, span.end))?.value;
          expect(own).toEqual(value[name]);
        }
        const line = oneLine(bytes);
        expect(line.includes(10) || line.includes(13)).toBe(false);
        expect(parsedByOracle(line)?.value).toEqual(value);
      }),
      { numRuns: 300 },
    );
  });
});

/** An order of its own and a notation of its own, to compare trees by. */
function outline(root: Tree): string | null {
  switch (root.kind) {
    case 'word':
      return `w${root.text}`;
    case 'string':
      return `s${codesOf(root.text)}`;
    case 'array': {
      const elements = root.elements.map(outline);
      return elements.includes(null) ? null : `a(${elements.join(';')})`;
    }
    case 'object': {
      const members = new Map(root.members.map(([name, value]) => [codesOf(name), outline(value)]));
      if (members.size < root.members.length || [...members.values()].includes(null)) return null;
      return `o(${[...members]
        .map(([name, value]) => `${name}=${value}`)
        .sort()
        .join(';')})`;
    }
  }
}

function codesOf(value: string): string {
  return Array.from({ length: value.length }, (_, index) => value.charCodeAt(index)).join('.');
}

describe('canonicalText', () => {
  test('is the same for every spelling of a tree', () => {
    fc.assert(
      fc.property(tree, seed, seed, (root, one, other) => {
        const first = canonicalText(Buffer.from(new Writer(one).write(root)));
        expect(canonicalText(Buffer.from(new Writer(other).write(root)))).toBe(first);
        expect(first === null).toBe(outline(root) === null);
      }),
      { numRuns: 1000 },
    );
  });

  test('differs for trees that differ', () => {
    const small = fc.oneof(tree, fc.constantFrom<Tree>(...similarTrees()));
    fc.assert(
      fc.property(small, small, seed, (one, other, n) => {
        const isEqual = outline(one) === outline(other);
        const texts = [one, other].map((root) =>
          canonicalText(Buffer.from(new Writer(n).write(root))),
        );
        if (outline(one) !== null) expect(texts[0] === texts[1]).toBe(isEqual);
      }),
      { numRuns: 1000 },
    );
  });

  test('is JSON for the same value', () => {
    fc.assert(
      fc.property(document, (bytes) => {
        const canonical = canonicalText(bytes);
        if (canonical !== null) expect(JSON.parse(canonical)).toEqual(parsedByOracle(bytes)?.value);
      }),
      { numRuns: 1000 },
    );
  });
});

function similarTrees(): Tree[] {
  const words = ['1', '1.0', '10', '-0', '0', 'null'].map(
    (spelling): Tree => ({ kind: 'word', text: spelling }),
  );
  const strings = ['', '1', 'null', '\ud800', '\ud801', '\ufffd', '\\ud800', 'a"', 'a\\"'].map(
    string,
  );
  const leaves = [...words, ...strings];
  const arrays = leaves.map((leaf): Tree => ({ kind: 'array', elements: [leaf] }));
  const objects = leaves.map((leaf): Tree => ({ kind: 'object', members: [['a', leaf]] }));
  return [...leaves, ...arrays, ...objects];
}
