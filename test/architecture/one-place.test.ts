// Small rules about the text of the source: a helper is declared in one place, and a comment stands at what
// it describes.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, text: readFileSync(join(root, 'src', name), 'utf8') }));

/** Two comments in a row that both describe a declaration, with only one declaration after them. */
const stacked = /\*\/[ \t]*\n[ \t]*\/\*\*/;

describe('the text of the source', () => {
  it('declares `ignored` once', () => {
    const declares = /(?:function ignored\b|const ignored = \(\))/;
    const names = files.filter(({ text }) => declares.test(text)).map(({ name }) => name);
    expect(names).toEqual([join('kernel', 'contain.ts')]);
  });

  it('has one comment above each declaration', () => {
    expect(files.length).toBeGreaterThan(100);
    expect(files.filter(({ text }) => stacked.test(text)).map(({ name }) => name)).toEqual([]);
    expect(stacked.test('  /** One. */\n  /** Another. */\n  function one() {}')).toBe(true);
  });
});
