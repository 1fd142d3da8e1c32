import { describe, expect, test } from 'vitest';
import { canonicalText } from './canonical.ts';

const canonical = (text: string) => canonicalText(Buffer.from(text));

describe('canonicalText', () => {
  test('sorts keys by code unit at every depth, keeps arrays, drops space', () => {
    expect(canonical(' { "b" : [ 2 , 1 , { "d" : null , "c" : true } ] ,\r\n\t"a" : { } } ')).toBe(
      '{"a":{},"b":[2,1,{"c":true,"d":null}]}',
    );
    expect(canonical('{"ﬀ":1,"🦀":2,"z":3,"Z":4,"":5,"10":6,"9":7}')).toBe(
      '{"":5,"10":6,"9":7,"Z":4,"z":3,"🦀":2,"ﬀ":1}',
    );
  });

  test('keeps the spelling of numbers', () => {
    const spellings = ['1', '1.0', '1e0', '1E0', '-0', '0', '9007199254740992', '9007199254740993'];
    expect(new Set(spellings.map(canonical)).size).toBe(spellings.length);
    for (const spelling of spellings) expect(canonical(spelling)).toBe(spelling);
  });

  test('gives one text to all spellings of a string', () => {
    for (const spelling of ['"A/\\n"', '"\\u0041\\/\\u000a"', '"\\u0041/\\u000A"']) {
      expect(canonical(spelling)).toBe('"A/\\n"');
    }
    expect(canonical('{"\\u0061":1}')).toBe(canonical('{"a":1}'));
    expect(canonical('"\\ud83e\\udd80"')).toBe(canonical('"🦀"'));
    expect(canonical('"\\u2028"')).toBe(canonical('"\u2028"'));
  });

  test('keeps half characters apart, and from text that looks like them', () => {
    const spellings = ['"\\ud800"', '"\\ud801"', '"\\udc00\\ud800"', '"\ufffd"', '"\\\\ud800"'];
    expect(new Set(spellings.map(canonical)).size).toBe(spellings.length);
    expect(canonical('"\\uD800"')).toBe(canonical('"\\ud800"'));
  });

  test('keeps strings apart from what they look like', () => {
    const spellings = [
      '"1"',
      '1',
      '"null"',
      'null',
      '["a","b"]',
      '["a\\",\\"b"]',
      '{"a":1}',
      '"{"',
    ];
    expect(new Set(spellings.map(canonical)).size).toBe(spellings.length);
  });

  test('has no text for an object with a key twice, at any depth', () => {
    expect(canonical('{"a":1,"a":1}')).toBeNull();
    expect(canonical('[{"x":[{"a":1,"\\u0061":2}]}]')).toBeNull();
    expect(canonical('{"__proto__":1,"constructor":2}')).toBe('{"__proto__":1,"constructor":2}');
  });

  test('reads the span it is given', () => {
    const bytes = Buffer.from('{"ü":{"b":1,"a":2}}');
    expect(canonicalText(bytes, { start: 6, end: bytes.length - 1 })).toBe('{"a":2,"b":1}');
  });

  test('has no text for what is nested more deeply than a frame may be', () => {
    expect(canonical('['.repeat(512) + ']'.repeat(512))).not.toBeNull();
    expect(canonical('['.repeat(100_000) + ']'.repeat(100_000))).toBeNull();
  });

  test('comes to an end even with what was not checked before', () => {
    for (const text of ['[1', '{"a', '{"a":', '["\\', '', '[[[', '{"a":1,', '[1 2 3']) {
      expect(() => {
        try {
          canonical(text);
        } catch (error) {
          if (!(error instanceof SyntaxError)) throw error;
        }
      }).not.toThrow();
    }
  });
});
