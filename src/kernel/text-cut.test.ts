import { describe, expect, it } from 'vitest';
import { cutText, headOf } from './text-cut.ts';

const flag = '🇩🇪';
const family = '👨‍👩‍👧';

describe('a text that is cut', () => {
  it('is as it was if it is short enough', () => {
    expect(cutText(5, 'abcde')).toBe('abcde');
    expect(headOf(5, 'abc')).toBe('abc');
  });

  it('ends in an ellipsis that counts', () => {
    expect(cutText(5, 'abcdef')).toBe('abcd…');
    expect(cutText(5, 'abc   def')).toBe('abc…');
  });

  it.each([flag, family, 'é'.normalize('NFD'), '💡'])('never ends in half of %s', (character) => {
    for (let length = 1; length < 40; length += 1) {
      const text = `ab${character.repeat(20)}`;
      const head = headOf(length, text);
      expect(head.length).toBeLessThanOrEqual(length);
      const rest = head.slice(2);
      expect(rest).toBe(character.repeat(rest.length / character.length));
    }
  });

  it('counts flags from the beginning, since all of them belong together in pairs', () => {
    for (let length = 390; length < 400; length += 1) {
      const head = headOf(length, flag.repeat(200));
      expect(head).toBe(flag.repeat(Math.floor(length / 4)));
    }
  });

  it('is bounded even where one character never ends', () => {
    expect(headOf(100, `a${'\u0301'.repeat(1_000)}`)).toHaveLength(100);
  });
});
