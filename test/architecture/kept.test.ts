// Whatever is kept names its bound: above every field and every module-level variable that holds a Map,
// a Set or a RingMap stands a comment that says how many there can be, or what ends each. Without it
// nobody has asked the question, and a table that only grows is found by whoever runs it for a month.

import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const src = fileURLToPath(new URL('../../src', import.meta.url));

/** A field, or a variable of a module; what a function makes for itself ends with it. */
const keeping =
  /^(?: {2}(?:readonly |static |private )*#?\w+(?:: [^=]+)? = |(?:export )?(?:const|let) \w+(?:: [^=]+)? = )new (?:Map|Set|WeakMap|WeakSet|RingMap)\b/;
/** Made once from what is written in the source: it cannot grow. */
const constant = /: Readonly(?:Map|Set)<|new (?:Map|Set)\((?!\))/;
const bound =
  /at most|no more than|one for each|bounded|as long as|until|end(?:s|ed) w|gone w|a handful|only those/i;

/** The comment that ends right above this line, as one text. */
function commentAbove(lines: readonly string[], at: number): string {
  const above: string[] = [];
  for (let line = at - 1; line >= 0; line--) {
    const text = lines[line]?.trim() ?? '';
    if (!/^(\/\*\*|\*|\/\/)/.test(text)) break;
    above.unshift(text);
  }
  return above.join(' ');
}

function unboundedIn(source: string): readonly string[] {
  const lines = source.split('\n');
  return lines.flatMap((line, at) => {
    if (!keeping.test(line) || constant.test(line)) return [];
    return bound.test(commentAbove(lines, at)) ? [] : [`${at + 1}: ${line.trim()}`];
  });
}

describe('everything that is kept', () => {
  it('names its bound #no-growth', () => {
    const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
      (name) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
    );
    const found = files.flatMap((name) => {
      const file = join(src, name);
      return unboundedIn(readFileSync(file, 'utf8')).map(
        (line) => `${relative(src, file)}:${line}`,
      );
    });
    expect(found, 'say above it how many there can be, or what ends each').toEqual([]);
  });

  it('is found in every form in which it is written', () => {
    const planted = [
      '  readonly #a = new Map<string, number>();',
      '  /** Something else. */\n  #b: Set<string> = new Set();',
      'const c = new WeakMap<object, string>();',
      '  readonly d = new RingMap<number, string>(64);',
    ];
    for (const slip of planted) expect(unboundedIn(slip)).toHaveLength(1);
    const good = [
      '  /** At most ten. */\n  readonly #a = new Map<string, number>();',
      "const words: ReadonlySet<string> = new Set(['a']);",
      '    const local = new Map<string, number>();',
    ];
    for (const right of good) expect(unboundedIn(right)).toEqual([]);
  });
});
