import { describe, expect, it } from 'vitest';
import { printableJson, printableLine, printableName, printableText } from './printable.ts';

describe('text from outside', () => {
  it('keeps ordinary text of any script, tabs and line breaks', () => {
    const text = 'naïve\tтекст 日本語 👩‍👩‍👧\nsecond line';
    expect(printableText(text)).toBe(text);
  });

  it('shows what would drive a terminal as its escape', () => {
    expect(printableText('\u001b[2Jgone\u0007')).toBe('\\x1b[2Jgone\\x07');
    expect(printableText('\u009b31mred')).toBe('\\x9b31mred');
    expect(printableText('over\rwritten')).toBe('over\\x0dwritten');
  });

  it('shows changes of direction and invisible tags', () => {
    expect(printableText('a\u202eb')).toBe('a\\u202eb');
    expect(printableText('a\u{e0041}b')).toBe('a\\u{e0041}b');
  });

  it('takes the line ends of Windows as line ends', () => {
    expect(printableText('a\r\nb')).toBe('a\nb');
  });

  it('makes one line of many', () => {
    expect(printableLine('  a\r\n\tb\u2028c\u0000 ')).toBe('a b c\\x00');
  });

  it('as a name shows white space that would not be seen', () => {
    expect(printableName('a b')).toBe('a b');
    expect(printableName('file:///.\t./a')).toBe('file:///.\\t./a');
    expect(printableName('a\nb\r\u00a0')).toBe('a\\nb\\r\\xa0');
    expect(printableName(' a  b ')).toBe('\\x20a \\x20b\\x20');
    expect(printableName('\u001b[2J\u2028')).toBe('\\x1b[2J\\u2028');
  });

  it('as JSON is written with escapes, and means the same', () => {
    const value = { plain: 'a\nb', odd: 'c\u009b \u202e \u200f \u061c \ufeff \u{e0041} 🇩🇪 ü' };
    const json = printableJson(JSON.stringify(value));
    expect(JSON.parse(json)).toEqual(value);
    expect(json).not.toMatch(/[\u0080-\u009f\u061c\u200f\u202e\ufeff]|[\u{e0000}-\u{e0fff}]/u);
    expect(json).toContain('🇩🇪 ü');
    expect(json).toContain('\\udb40\\udc41');
    expect(printableJson('{"a":1}')).toBe('{"a":1}');
  });
});
