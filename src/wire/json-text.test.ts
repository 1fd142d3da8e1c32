import { describe, expect, test } from 'vitest';
import { checkValue, isObjectText } from './json-text.ts';

const refused = (reason: string, offset: number) => expect.objectContaining({ reason, offset });

describe('checkValue', () => {
  test('accepts exactly one value, with space around it', () => {
    for (const text of ['{}', ' [1, 2] ', '\r\n\t"x"\n', '-0', 'null', '{"a":{"a":1,"a":2}}']) {
      expect(() => checkValue(Buffer.from(text))).not.toThrow();
    }
  });

  test('says what is wrong and where', () => {
    const cases: readonly (readonly [string, string, number])[] = [
      ['', 'unexpected-end', 0],
      ['  ', 'unexpected-end', 2],
      ['{"a":1', 'unexpected-end', 6],
      ['{"a" 1}', 'unexpected-byte', 5],
      ['{a:1}', 'unexpected-byte', 1],
      ['{1}', 'unexpected-byte', 1],
      ['{"a":1,2}', 'unexpected-byte', 7],
      ['{{}}', 'unexpected-byte', 1],
      ['{"a":1,}', 'unexpected-byte', 7],
      ['[1 2]', 'unexpected-byte', 3],
      ['[1}', 'unexpected-byte', 2],
      ['{} {}', 'trailing-bytes', 3],
      ['01', 'trailing-bytes', 1],
      ['[1.]', 'bad-number', 3],
      ['nul', 'bad-literal', 0],
      ['True', 'unexpected-byte', 0],
      ["{'a':1}", 'unexpected-byte', 1],
      ['"a\nb"', 'control-character', 2],
      ['"\\q"', 'bad-escape', 1],
      ['\ufeff{}', 'byte-order-mark', 0],
      ['\v1', 'unexpected-byte', 0],
      ['\u00a01', 'unexpected-byte', 0],
    ];
    for (const [text, reason, offset] of cases) {
      expect(() => checkValue(Buffer.from(text)), text).toThrow(refused(reason, offset));
    }
  });

  test('looks at nothing outside the range, and counts offsets from the start of the bytes', () => {
    const bytes = Buffer.from('xx{"a":[1,]}"');
    expect(() => checkValue(bytes, 7, 8)).toThrow(refused('unexpected-end', 8));
    expect(() => checkValue(bytes, 2, 12)).toThrow(refused('unexpected-byte', 10));
    expect(() => checkValue(bytes, 8, 9)).not.toThrow();
  });

  test('refuses encoded surrogates, overlong forms and cut characters', () => {
    for (const hex of ['22eda08022', '22c0af22', '22f4908080 22', '22e282', 'ff', '22fe22']) {
      expect(() => checkValue(Buffer.from(hex.replace(' ', ''), 'hex'))).toThrow(
        expect.objectContaining({ reason: 'invalid-utf8' }),
      );
    }
  });

  test('accepts 512 containers inside each other and refuses 513, without using the call stack', () => {
    const nested = (depth: number) =>
      Buffer.from('[{"a":'.repeat(depth / 2) + '[]'.repeat(depth % 2) + '}]'.repeat(depth / 2));
    expect(() => checkValue(Buffer.from('['.repeat(512) + ']'.repeat(512)))).not.toThrow();
    expect(() => checkValue(Buffer.from('['.repeat(513) + ']'.repeat(513)))).toThrow(
      refused('too-deep', 512),
    );
    expect(() => checkValue(nested(513))).toThrow(expect.objectContaining({ reason: 'too-deep' }));
    expect(() => checkValue(Buffer.from('['.repeat(1_000_000)))).toThrow(refused('too-deep', 512));
  });
});

describe('isObjectText', () => {
  test('tells objects from all other values', () => {
    expect(isObjectText(Buffer.from(' \n{"a":1}'))).toBe(true);
    for (const text of ['[]', '"{"', 'null', '1', '']) {
      expect(isObjectText(Buffer.from(text))).toBe(false);
    }
  });
});
