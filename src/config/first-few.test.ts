import { describe, expect, it } from 'vitest';
import { firstFew } from './first-few.ts';

describe('the first few of many', () => {
  it('are all of them while they are few', () => {
    expect(firstFew(['a', 'b'], '; ')).toBe('a; b');
    expect(firstFew([1, 2], '\n', (item) => `${item}.`)).toBe('1.\n2.');
  });

  it('are followed by how many more there are', () => {
    const many = Array.from({ length: 1_000 }, (_, at) => `k${at}`);
    const texts = firstFew(many, ', ').split(', ');
    expect(texts).toHaveLength(21);
    expect(texts.at(-1)).toBe('and 980 more');
  });
});
