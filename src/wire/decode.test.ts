import { describe, expect, test } from 'vitest';
import { booleanOf, idOf, isNull, numberOf, valueOf as parsed, textOf } from './decode.ts';

/** Hands over the token surrounded by other bytes, so that offsets matter. */
function on<T>(read: (bytes: Buffer, span: { start: number; end: number }) => T, token: string): T {
  const bytes = Buffer.from(`[${token},"x"]`);
  return read(bytes, { start: 1, end: 1 + Buffer.byteLength(token) });
}

describe('decoding a span', () => {
  test('gives text with and without escapes, and undefined for anything else', () => {
    expect(on(textOf, '"tools/call"')).toBe('tools/call');
    expect(on(textOf, '"tools\\/call \\u0041"')).toBe('tools/call A');
    expect(on(textOf, '"Grüße 🦀"')).toBe('Grüße 🦀');
    expect(on(textOf, '"\\ud800"')).toBe('\ud800');
    expect(on(textOf, '""')).toBe('');
    for (const token of ['1', 'null', '{}', '[]', 'true'])
      expect(on(textOf, token)).toBeUndefined();
  });

  test('gives numbers that a double can hold', () => {
    expect(on(numberOf, '-1.5e3')).toBe(-1500);
    expect(on(numberOf, '0')).toBe(0);
    for (const token of ['1e400', '"1"', 'null', '[1]'])
      expect(on(numberOf, token)).toBeUndefined();
  });

  test('gives booleans and tells null', () => {
    expect(on(booleanOf, 'true')).toBe(true);
    expect(on(booleanOf, 'false')).toBe(false);
    expect(on(booleanOf, '"true"')).toBeUndefined();
    expect(on(isNull, 'null')).toBe(true);
    expect(on(isNull, '"null"')).toBe(false);
  });

  test('parses a whole value', () => {
    expect(on(parsed, '{"a":[1,"ü"]}')).toEqual({ a: [1, 'ü'] });
  });

  test('takes strings and safe integers as ids, and keeps their types apart', () => {
    expect(on(idOf, '0')).toBe(0);
    expect(on(idOf, '-7')).toBe(-7);
    expect(on(idOf, '9007199254740991')).toBe(9007199254740991);
    expect(on(idOf, '-9007199254740991')).toBe(-9007199254740991);
    expect(on(idOf, '"1"')).toBe('1');
    expect(on(idOf, '""')).toBe('');
  });

  test('refuses ids that have more than one spelling or no exact value', () => {
    for (const token of [
      ...['1.0', '1e3', '-0', '9007199254740992', '9007199254740993', '-9007199254740992'],
      ...['123456789012345678901234567890', 'null', 'true', '{}', '[1]'],
    ]) {
      expect(on(idOf, token)).toBeUndefined();
    }
  });

  test('writes an integer id as it was spelled', () => {
    for (const token of ['0', '-1', '42', '9007199254740991']) {
      expect(String(on(idOf, token))).toBe(token);
    }
  });
});
