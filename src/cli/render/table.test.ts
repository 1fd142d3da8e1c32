import { describe, expect, it } from 'vitest';
import { tableLines } from './table.ts';
import { cutTo, widthOf, wrappedTo } from './width.ts';

const cells = (...texts: string[]) => texts.map((text) => ({ text }));

describe('a table', () => {
  it('lines its columns up, whatever script they are in', () => {
    const lines = tableLines([cells('a', 'x'), cells('日本', 'y'), cells('é', 'z')], 80);
    expect(lines).toEqual(['a     x', '日本  y', 'é     z']);
  });

  it('cuts the last column to the width of the terminal', () => {
    const [line = ''] = tableLines([cells('name', 'a long description of it')], 20);
    expect(line).toBe('name  a long descri…');
    expect(widthOf(line)).toBe(20);
  });

  it('cuts nothing where there is no terminal', () => {
    const long = 'x'.repeat(500);
    expect(tableLines([cells('name', long)], Number.POSITIVE_INFINITY)).toEqual([`name  ${long}`]);
  });

  it('does not count a look as width', () => {
    const bold = (text: string) => `<b>${text}</b>`;
    expect(tableLines([[{ text: 'a', look: bold }, { text: 'x' }], cells('bb', 'y')], 80)).toEqual([
      '<b>a</b>   x',
      'bb  y',
    ]);
  });
});

describe('the width of a text', () => {
  it('counts what is seen', () => {
    expect(widthOf('日本')).toBe(4);
    expect(widthOf('e\u0301')).toBe(1);
    expect(widthOf('👩‍👩‍👧')).toBe(2);
  });

  it('is never exceeded by a cut, which leaves no half character', () => {
    expect(cutTo(4, '日本語')).toBe('日…');
    expect(cutTo(5, '日本語')).toBe('日本…');
    expect(cutTo(0, 'abc')).toBe('');
  });

  it('is kept by breaking between words', () => {
    expect(wrappedTo(9, 'one two three')).toEqual(['one two', 'three']);
  });
});
