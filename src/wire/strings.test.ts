import { describe, expect, test } from 'vitest';
import { skipString } from './strings.ts';
import { WireError } from './wire-error.ts';

/** Skips the string token that the text begins with. */
function skip(text: string | Buffer): number | string {
  try {
    return skipString(Buffer.from(text as string), 1);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    return `${error.reason} at ${error.offset}`;
  }
}

const lengths = [0, 1, 2, 3, 4, 5, 31, 32, 33, 188, 191, 192, 193, 196, 224, 255, 256, 500, 5000];

describe('skipString', () => {
  test('stops after the closing quote, whatever the length and whatever follows', () => {
    for (const length of lengths) {
      for (const rest of ['', ',', ', "next": "\\n"}', 'x'.repeat(400)]) {
        expect(skip(`"${'é'.repeat(length)}"${rest}`)).toBe(2 * length + 2);
      }
    }
  });

  test('takes every escape at every place of a short and of a long string', () => {
    for (const length of lengths) {
      for (const escaped of ['\\"', '\\\\', '\\/', '\\b', '\\f', '\\n', '\\r', '\\t', '\\uD83d']) {
        const token = `"${'a'.repeat(length)}${escaped}${'b'.repeat(length)}"`;
        expect(skip(`${token}, "x"`)).toBe(token.length);
      }
    }
  });

  test('finds a control character at every place of a short and of a long string', () => {
    for (const length of lengths) {
      for (const control of ['\0', '\n', '\r', '\t', '\x1f']) {
        const offset = length + 1;
        const text = `"${'a'.repeat(length)}${control}${'b'.repeat(length)}"`;
        expect(skip(text)).toBe(`control-character at ${offset}`);
      }
    }
  });

  test('finds a control character behind an escape in a long string', () => {
    expect(skip(`"${'a'.repeat(300)}\\n${'b'.repeat(300)}\t"`)).toBe('control-character at 603');
  });

  test('leaves DEL and everything above it alone', () => {
    const text = `"${'\x7f\x80\u2028\uffff\u{10ffff}'.repeat(100)}"`;
    expect(skip(text)).toBe(Buffer.byteLength(text));
  });

  test('refuses a string that does not end', () => {
    for (const length of lengths) {
      expect(skip(`"${'a'.repeat(length)}`)).toBe(`unexpected-end at ${length + 1}`);
      expect(skip(`"${'a'.repeat(length)}\\`)).toBe(`unexpected-end at ${length + 2}`);
      expect(skip(`"${'a'.repeat(length)}\\u12`)).toBe(`unexpected-end at ${length + 5}`);
    }
  });

  test('refuses escapes that do not exist', () => {
    for (const escaped of [
      '\\x',
      '\\U0041',
      '\\u00g0',
      '\\u12-4',
      '\\\n',
      "\\'",
      '\\0',
      '\\u:000',
    ]) {
      expect(skip(`"${escaped}"`)).toBe('bad-escape at 1');
    }
  });
});
