import { describe, expect, it } from 'vitest';
import { firstFew, shownWord } from './message-text.ts';

describe('a word of the file', () => {
  it('is shown in quotes', () => {
    expect(shownWord('files')).toBe('"files"');
    expect(shownWord('my "own"')).toBe('"my \\"own\\""');
  });

  it('contains no line breaks and no control characters', () => {
    expect(shownWord('a\nb\u2028c')).toBe('"a\\nb c"');
    expect(shownWord('\u001b[31m\u202e')).toBe('"\\u001b[31m\\u202e"');
  });

  it('is cut to a readable length', () => {
    expect(shownWord('k'.repeat(5_000))).toBe(`"${'k'.repeat(59)}…"`);
  });
});

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
