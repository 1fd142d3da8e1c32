// `*` stands for any characters: compared with a regular expression that says the same.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Glob } from './glob.ts';

const letters = fc.string({ unit: fc.constantFrom('a', 'b', '/', '.', '*'), maxLength: 8 });
const texts = fc.string({ unit: fc.constantFrom('a', 'b', '/', '.', '*'), maxLength: 12 });

function reference(pattern: string): RegExp {
  const parts = pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^]*')}$`);
}

describe('a pattern with stars', () => {
  it('matches what a regular expression would', () => {
    fc.assert(
      fc.property(letters, texts, (pattern, text) => {
        expect(new Glob(pattern).matches(text)).toBe(reference(pattern).test(text));
      }),
      { numRuns: 5_000 },
    );
  });

  it('knows whether it can match something, or everything, that begins so', () => {
    const tails = ['', 'a', 'b', 'ab', 'x', '/a.', '*'];
    fc.assert(
      fc.property(letters, texts, (pattern, start) => {
        const glob = new Glob(pattern);
        const matched = tails.map((tail) => glob.matches(start + tail));
        if (matched.includes(true)) expect(glob.mayBegin(start)).toBe(true);
        if (glob.matchesAllOf(start)) expect(matched).not.toContain(false);
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    ['docs__*', 'docs__', true],
    ['*', 'docs__', true],
    ['do*', 'docs__', true],
    ['docs__a', 'docs__', false],
    ['docs__*a', 'docs__', false],
    ['*a', 'docs__', false],
  ])('%s matches everything that begins with %s: %s', (pattern, start, isAll) => {
    expect(new Glob(pattern).matchesAllOf(start)).toBe(isAll);
  });
});
