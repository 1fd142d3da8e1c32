import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { oneLine, splice } from './splice.ts';

const edit = (start: number, end: number, text: string | Buffer) => ({ start, end, with: text });

describe('splice', () => {
  const bytes = Buffer.from('{"id":1,"x":[2]}');

  test('replaces, inserts and removes, in any order', () => {
    const edits = [edit(15, 15, ',"ü":3'), edit(6, 7, Buffer.from('"ab"')), edit(12, 15, '')];
    expect(splice(bytes, edits).toString()).toBe('{"id":"ab","x":,"ü":3}');
    expect(bytes.toString()).toBe('{"id":1,"x":[2]}');
  });

  test('gives an equal buffer of its own for no edits', () => {
    expect(splice(bytes, [])).toEqual(bytes);
    expect(splice(bytes, [])).not.toBe(bytes);
  });

  test('puts an insertion before a replacement at the same place, and keeps insertions in order', () => {
    expect(splice(bytes, [edit(6, 7, '9'), edit(6, 6, 'a'), edit(6, 6, 'b')]).toString()).toBe(
      '{"id":ab9,"x":[2]}',
    );
  });

  test('refuses edits that overlap or lie outside', () => {
    expect(() => splice(bytes, [edit(3, 7, ''), edit(6, 8, '')])).toThrow(RangeError);
    expect(() => splice(bytes, [edit(3, 99, '')])).toThrow(RangeError);
    expect(() => splice(bytes, [edit(-1, 2, '')])).toThrow(RangeError);
    expect(() => splice(bytes, [edit(5, 4, '')])).toThrow(RangeError);
  });

  test('keeps every byte outside the edits', () => {
    const property = fc.property(
      fc.uint8Array({ maxLength: 200 }),
      fc.array(fc.tuple(fc.nat(200), fc.nat(20), fc.string({ unit: 'binary', maxLength: 5 })), {
        maxLength: 8,
      }),
      (raw, wishes) => {
        const source = Buffer.from(raw);
        const edits = [];
        let expected = '';
        let at = 0;
        for (const [start, length, text] of wishes.sort((a, b) => a[0] - b[0])) {
          const end = Math.min(start + length, source.length);
          if (start < at || end < start) continue;
          edits.push(edit(start, end, text));
          expected += source.toString('hex', at, start) + Buffer.from(text).toString('hex');
          at = end;
        }
        expected += source.toString('hex', at);
        expect(splice(source, edits).toString('hex')).toBe(expected);
      },
    );
    fc.assert(property);
  });
});

describe('oneLine', () => {
  test('turns every carriage return and line feed into a space, in a copy', () => {
    const bytes = Buffer.from('{\r\n  "a":\r1,\n"b":2\n}\r\n');
    expect(oneLine(bytes).toString()).toBe('{    "a": 1, "b":2 }  ');
    expect(bytes.includes(10)).toBe(true);
  });

  test('gives the same buffer back if there is nothing to replace', () => {
    const bytes = Buffer.from('{"a":"\\n\\r"}');
    expect(oneLine(bytes)).toBe(bytes);
  });
});
