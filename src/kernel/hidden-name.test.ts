// Names that their holder cannot read, and that are valid for one purpose only.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HiddenNames } from './hidden-name.ts';

const names = new HiddenNames(Buffer.alloc(32, 1));

describe('a hidden name', () => {
  it('is the same every time, leads back, and shows nothing of its text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string(), (text, owner) => {
        const hidden = names.hide(['task', owner], text);
        expect(hidden).toMatch(/^[\w-]+$/);
        expect(names.hide(['task', owner], text)).toBe(hidden);
        expect(names.read(['task', owner], hidden)).toBe(Buffer.from(text).toString());
      }),
    );
    const bytes = Buffer.from(names.hide(['task', 'a'], 'the server files'), 'base64url');
    expect(bytes.includes('files')).toBe(false);
  });

  it('means nothing for another purpose, owner or key', () => {
    const hidden = names.hide(['task', 'a', 'bc'], 'text');
    expect(names.read(['task', 'ab', 'c'], hidden)).toBeUndefined();
    expect(names.read(['task', 'a', 'bc', ''], hidden)).toBeUndefined();
    expect(names.read(['cursor', 'a', 'bc'], hidden)).toBeUndefined();
    expect(new HiddenNames(Buffer.alloc(32, 2)).read(['task', 'a', 'bc'], hidden)).toBeUndefined();
  });

  it('cannot be changed, cut or made up', () => {
    const hidden = names.hide(['task'], 'text');
    for (let at = 0; at < hidden.length; at += 1) {
      const other = hidden[at] === 'A' ? 'B' : 'A';
      const changed = `${hidden.slice(0, at)}${other}${hidden.slice(at + 1)}`;
      expect(names.read(['task'], changed)).toBeUndefined();
      expect(names.read(['task'], hidden.slice(0, at))).toBeUndefined();
    }
    for (const text of ['', 'x', '!', `${hidden}A`, `${hidden}=`]) {
      expect(names.read(['task'], text)).toBeUndefined();
    }
  });

  it('needs a key', () => {
    expect(() => new HiddenNames(Buffer.alloc(31))).toThrow(RangeError);
  });
});
