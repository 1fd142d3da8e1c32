// Addresses that a server can read in another way than they are written: as a URL, with escapes decoded,
// with the path made short. A role must never allow an address of which some reading names what the role
// may not read. Random changes are made to addresses, and the readings are computed here as servers do it.

import { posix } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { Dice } from '../../../test/support/dice.ts';
import { longestAddress, Role } from './role.ts';

function reader(allow: readonly string[], deny: readonly string[] = []) {
  const role = new Role('r', { allow, deny, operator: false });
  const request = { action: 'read', server: 'docs', kind: 'resource', method: null } as const;
  return (name: string) => role.denial({ ...request, name }) === undefined;
}

describe('a role that decides by address', () => {
  it.each([
    ...['file:///pub/.\t./priv/a', 'file:///pub/.\n./priv/a', 'file:///pub/\r../priv/a'],
    ...['file:///pub/a\t', 'file:///pub/a ', ' file:///pub/a', '\u0001file:///pub/a'],
    ...['file:/pub/a', 'file:pub/a', 'file://localhost/pub/a', 'fi\tle:///pub/a'],
    ...['fIle:///pub/a', 'https://H.example/pub/a', 'https://h.example:443/pub/a'],
    ...['https://me@h.example/pub/a', 'https://h.example./pub/a', 'https:h.example/pub/a'],
    ...['https://ｈ.example/pub/a', 'https:\\\\h.example/pub/a', 'https:///h.example/pub/a'],
    ...['https://h.example/pub/%2e\t%2e/priv', 'https://h.example/pub/..;/priv'],
    ...['file:///pub/%252e%252e/priv', 'file:///pub/%c0%ae%c0%ae/priv', 'file:///pub/%00a'],
    ...[
      'file:///pub/%09a',
      'file:///pub/％2e％2e/priv',
      'file:///pub/．．/priv',
      'file:///pub/%zz',
    ],
    ...[
      'file:///pub/\u0085a',
      'file:///pub/\u2028a',
      'file:///pub/\ud800',
      'a\tb',
      'a\n../b',
      '\ta',
    ],
    ...['mem://x@pub/a', 'mem://pub:/a', 'mem://pub./a', 'http://0x7f.1/pub/a', 'http://', 'file:'],
  ])('does not decide about %j #roles-deny', (uri) => {
    expect(reader(['resource:docs/*'])(uri)).toBe(false);
    expect(
      reader(['resource:docs/file:///pub/*', 'resource:docs/https://h.example/pub/*'])(uri),
    ).toBe(false);
    expect(reader(['*'], ['resource:docs/mem://other/*'])(uri)).toBe(false);
    expect(reader(['*'])(uri)).toBe(true);
  });

  it.each([
    ...[
      'file:///priv/a',
      'file:////priv/a',
      'file:///priv//a',
      'file:///PRIV/a',
      'file:///priv/a/',
    ],
    ...['file:///priv/a?b', 'file:///priv/a#b', 'file:///priv/a?', 'file:///top%20secret'],
    ...[
      'file:///top secret',
      'file:///%C3%A9',
      'file:///é',
      'file:///e\u0301',
      'file:///caf%c3%a9!',
    ],
    ...['file:///caf%C3%A9%21', 'mem://HOST/x', 'https://h.example', 'https://h.example/'],
  ])('denies %s, however it is written #roles-deny', (uri) => {
    const deny = ['file:///priv/a', 'file:///top secret', 'file:///é', 'file:///caf%C3%A9!'];
    const read = reader(
      ['*'],
      [...deny, 'mem://host/*', 'https://h.example/'].map((one) => `resource:docs/${one}`),
    );
    expect(read(uri)).toBe(false);
    expect(read('file:///public/a')).toBe(true);
  });

  it.each([
    ...[
      'file:///secret',
      'file:///secret/',
      'file:///SECRET',
      'file:///secret?x',
      'file:///secret#x',
    ],
    ...[
      'file:///%73ecret',
      'file:////secret',
      'file:///secret//',
      'https://h.example/',
      'mem://box',
    ],
  ])('denies the folder %s with all that is in it, and allows no folder so #roles-deny', (uri) => {
    const folders = ['file:///secret/*', 'https://h.example/**', 'mem://box/*'];
    const patterns = folders.map((one) => `resource:docs/${one}`);
    const read = reader(['resource:docs/*'], patterns);
    expect(read(uri)).toBe(false);
    expect(['file:///secrets', 'file:///', 'mem://boxes'].map(read)).toEqual([true, true, true]);
    expect(reader(patterns)(uri.replace(/[/?#]+x?$/, ''))).toBe(false);
  });

  it('allows by a part of the address only if what is left without it is allowed #roles-deny', () => {
    const read = reader(['resource:docs/file:///pub/*.txt', 'resource:docs/mem://find?kind=*']);
    expect(read('file:///pub/a.txt')).toBe(true);
    expect(read('file:///pub/secret?.txt')).toBe(false);
    expect(read('file:///pub/secret#.txt')).toBe(false);
    expect(read('mem://find?kind=book')).toBe(true);
    expect(read('mem://find?kind=%2E')).toBe(false);
  });

  it.each([
    ...[
      'file:///pub/{x}',
      'file:///pub/{+x}/{y}',
      'https://{Host}/pub{?q}',
      'mem://Pub/My notes/é',
    ],
    ...['https://h.example', 'urn:isbn:0451450523', 'notes', 'a/b c', 'mem://a?b=c&d=e%26f#g'],
    ...['file:///C:/Users/me', 'https://h.example/web/https://other.example/', 'x://100%25'],
  ])('decides about %s #roles-deny', (uri) => {
    expect(reader(['resource:docs/*'])(uri)).toBe(true);
    expect(reader([`resource:docs/${uri}`])(uri)).toBe(true);
    expect(reader(['resource:docs/file:///other/*'])(uri)).toBe(false);
  });

  it.each(['one', 'two', 'three', 'four'])(
    'never allows an address of which a reading is not allowed: dice %s #roles-deny',
    (seed) => {
      const dice = new Dice(`addresses ${seed}`);
      let allowed = 0;
      let changed = 0;
      for (let turn = 0; turn < 25_000; turn += 1) {
        const { read, isNamedAllowed, start } = dice.pick(cases);
        const uri = mutated(dice, start(dice));
        if (!read(uri)) continue;
        allowed += 1;
        const readings = readingsOf(uri);
        if (readings.length > 1) changed += 1;
        for (const one of readings) {
          expect(isNamedAllowed(one), `${JSON.stringify(uri)} is read as ${one}`).toBe(true);
        }
      }
      // Some are allowed, and some of these are read in another way: the loop above has looked at something.
      expect(allowed).toBeGreaterThan(500);
      expect(changed).toBeGreaterThan(50);
    },
  );
});

const places = ['file:///', 'https://h.example/', 'mem://host/', ''];
const starts = places.flatMap((place) =>
  ['pub/a', 'pub/priv/a', 'priv/a', 'pub/é b'].map((path) => place + path),
);
const start = (dice: Dice) => dice.pick(starts);
const isIn = (folder: string) => (name: string) =>
  places.some((place) => name.toLowerCase().startsWith(`${place}${folder}/`));
const isPublic = (name: string) => places.some((place) => name.startsWith(`${place}pub/`));
const isPrivate = isIn('priv');
const isPrivatePart = isIn('pub/priv');
const patterns = (folder: string) => places.map((place) => `resource:docs/${place}${folder}/*`);

/** What a role may read, in the words of this test: by folders. */
const cases = [
  { read: reader(patterns('pub')), isNamedAllowed: isPublic, start },
  {
    read: reader(patterns('pub'), patterns('pub/priv')),
    isNamedAllowed: (name: string) => isPublic(name) && !isPrivatePart(name),
    start,
  },
  {
    read: reader(['*'], patterns('priv')),
    isNamedAllowed: (name: string) => !isPrivate(name),
    start,
  },
];

const pieces = [
  ...[
    '\t',
    '\n',
    '\r',
    ' ',
    '\u0000',
    '\u001f',
    '/',
    '//',
    '\\',
    '.',
    '..',
    '../',
    '/..',
    './',
    '%2e',
  ],
  ...[
    '%2E%2e',
    '%2f',
    '%5c',
    '%09',
    '%00',
    '%25',
    '%252e',
    '%70',
    '%c3%a9',
    '%C0%AE',
    '?',
    '#',
    '?x=/../',
  ],
  ...[
    '@',
    'u@',
    'localhost',
    'h.example',
    'host',
    ':',
    ':443',
    ':80',
    'FILE',
    'pub',
    'priv',
    'pub/',
    'priv/',
  ],
  ...[
    ';',
    '．',
    '／',
    '\u200b',
    '\u00ad',
    'é',
    'e\u0301',
    '|',
    '{x}',
    '*',
    '!',
    '%21',
    'PRIV',
    'Pub',
    'C|',
  ],
];

function mutated(dice: Dice, text: string): string {
  let changed = text;
  for (let left = dice.between(0, 4); left > 0; left -= 1) {
    const at = dice.between(0, changed.length);
    const cut = dice.chance(0.4) ? dice.between(1, 5) : 0;
    const piece = dice.chance(0.15) ? recased(changed.slice(at, at + cut)) : dice.pick(pieces);
    changed = changed.slice(0, at) + (dice.chance(0.8) ? piece : '') + changed.slice(at + cut);
  }
  return changed;
}

function recased(text: string): string {
  return text.toUpperCase() === text ? text.toLowerCase() : text.toUpperCase();
}

/** As servers read it: as it is, as a URL, decoded, and as the path of a file. */
function readingsOf(uri: string): readonly string[] {
  const texts = [uri, ...(URL.canParse(uri) ? [new URL(uri).href] : [])];
  const decoded = texts.flatMap((text) => [text, decodedText(text)]);
  const paths = decoded.map((text) => {
    const [, scheme = '', host = '', path = ''] =
      /^([^:/?#]*:)?(\/\/[^/?#]*)?([^?#]*)/.exec(text) ?? [];
    return scheme + host + (path === '' ? '' : posix.normalize(path));
  });
  // What a parser of URLs escapes is the same name: the rules of this test are written without escapes.
  return [...new Set([...decoded, ...paths].map(decodedText))];
}

function decodedText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

describe('a long address', () => {
  const begin = 'file:///pub/';
  const deny = Array.from({ length: 50 }, (_, at) => `resource:docs/file:///priv${at}/*`);
  /** One character that folding makes 18 of. */
  const wide = '\ufdfa';

  it.each([
    ['of letters', 'a'.repeat(longestAddress)],
    ['of characters that stand for many', wide.repeat(longestAddress / 16)],
    ['of a million characters', wide.repeat(1_000_000)],
  ])('%s is not decided about #roles-deny', (_, rest) => {
    expect(reader(['resource:docs/*'], deny)(begin + rest)).toBe(false);
    expect(reader(['resource:docs/*'])(begin + rest)).toBe(false);
    expect(reader(['*'])(begin + rest)).toBe(true);
  });

  it('is decided about up to the limit', () => {
    const longest = begin + 'a'.repeat(longestAddress - begin.length);
    expect(reader(['resource:docs/*'], deny)(longest)).toBe(true);
    expect(reader(['*'], [...deny, 'resource:docs/FILE:///PUB/*'])(longest)).toBe(false);
  });

  it.each([1, 50])('costs the same with %i patterns in deny #no-growth', (patterns) => {
    const mayRead = reader(['resource:docs/*'], deny.slice(0, patterns));
    const normalize = vi.spyOn(String.prototype, 'normalize');
    const made = () =>
      normalize.mock.results.reduce((sum, { value }) => sum + String(value).length, 0);
    try {
      expect(mayRead(begin + wide.repeat(1_000_000))).toBe(false);
      expect(made()).toBe(0);
      expect(mayRead(`${begin}%EF%B7%BA?a`)).toBe(true);
      // Whether it is too long, whether it is ambiguous, and four readings.
      expect(normalize.mock.calls.length).toBeLessThanOrEqual(6);
    } finally {
      normalize.mockRestore();
    }
  });
});
