import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { skeleton } from './look-alike.ts';

describe('names that look alike', () => {
  it.each([
    ['case', 'read_file', 'Read_FILE'],
    ['another separator', 'read_file', 'read-file'],
    ['a dot for a separator', 'read_file', 'read.file'],
    ['a separator more', 'read_file', 'read__file'],
    ['a space at the end', 'read_file', 'read_file '],
    ['a Cyrillic letter', 'read_file', 'r\u0435ad_file'],
    ['a Cyrillic capital', 'HELP', '\u041dELP'],
    ['a Greek capital', 'HELP', '\u0397ELP'],
    ['a Greek small letter', 'copy', 'c\u03bfpy'],
    ['an Armenian letter', 'go', 'g\u0585'],
    ['a Cherokee letter', 'apply', '\u13aapply'],
    ['a small capital', 'stop', 'st\u1d0fp'],
    ['full width letters', 'ls', '\uff4c\uff53'],
    ['mathematical letters', 'ls', '\u{1d5c5}\u{1d5cc}'],
    ['a zero width space', 'read', 're\u200bad'],
    ['a byte order mark', 'read', '\ufeffread'],
    ['a soft hyphen', 'read', 're\u00adad'],
    ['an invisible tag', 'read', 'read\u{e0041}'],
    ['a change of direction', 'read', '\u202eread'],
    ['a control character', 'read', 'read\u0007'],
    ['an accent', 'resume', 're\u0301sume'],
    ['an accented letter', 'resume', 'r\u00e9sum\u00e9'],
    ['a dotless i', 'list', 'l\u0131st'],
    ['a one for an l', 'list', '1ist'],
    ['a capital I for an l', 'list', 'Iist'],
    ['a zero for an o', 'go', 'g0'],
    ['r and n for an m', 'remove', 'rernove'],
    ['a character that nobody can draw', 'x\ue000', 'x\ue001'],
    ['half a character', 'x\ue000', 'x\ud800'],
    ['a non-breaking hyphen', 'read-file', 'read\u2011file'],
  ])('differ by %s', (_, name, other) => {
    expect(skeleton(other)).toBe(skeleton(name));
  });

  it.each([
    ['read_file', 'read_files'],
    ['read_file', 'write_file'],
    ['read_file', 'readfile'],
    ['v2', 'v3'],
    ['\u8aad\u3080', '\u66f8\u304f'],
    ['\u0447\u0438\u0442\u0430\u0442\u044c', '\u043f\u0438\u0441\u0430\u0442\u044c'],
    ['a', ''],
  ])('are not %s and %s', (name, other) => {
    expect(skeleton(other)).not.toBe(skeleton(name));
  });

  it('do not depend on the case of ASCII letters, nor on invisible characters', () => {
    const name = fc.string({ unit: 'grapheme-ascii', maxLength: 20 });
    const noise = fc.constantFrom('\u200b', '\u200d', '\u2060', '\ufe0f', '\u0301', '');
    const property = fc.property(name, name, noise, (head, tail, between) => {
      const plain = skeleton(head + tail);
      expect(skeleton((head + tail).toUpperCase())).toBe(plain);
      expect(skeleton((head + tail).toLowerCase())).toBe(plain);
      expect(skeleton(head + between + tail)).toBe(plain);
    });
    fc.assert(property, { numRuns: 500 });
  });

  it('can be any text at all', () => {
    const property = fc.property(fc.string({ unit: 'binary' }), (name) => {
      expect(skeleton(name.normalize('NFC'))).toBe(skeleton(name));
    });
    fc.assert(property, { numRuns: 500 });
  });
});
