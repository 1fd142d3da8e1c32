import { describe, expect, it } from 'vitest';
import { shownWord } from './shown-word.ts';

describe('a word of the file', () => {
  it('is shown in quotes', () => {
    expect(shownWord('files')).toBe('"files"');
    expect(shownWord('my "own"')).toBe('"my \\"own\\""');
  });

  it('never leaves its line and never speaks to the terminal', () => {
    expect(shownWord('a\nb\u2028c')).toBe('"a\\nb c"');
    expect(shownWord('\u001b[31m\u202e')).toBe('"\\u001b[31m\\u202e"');
  });

  it('is cut where nobody reads on', () => {
    expect(shownWord('k'.repeat(5_000))).toBe(`"${'k'.repeat(59)}…"`);
  });
});
