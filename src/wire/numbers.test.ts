import { describe, expect, test } from 'vitest';
import { skipNumber } from './numbers.ts';
import { WireError } from './wire-error.ts';

function skip(text: string): number | string {
  try {
    return skipNumber(Buffer.from(text), 0);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    return error.reason;
  }
}

describe('skipNumber', () => {
  test('takes every shape of a number, at the end of the bytes and before something else', () => {
    for (const number of ['0', '-0', '7', '10', '-12', '0.0', '1.50', '1e5', '1E+05', '-1.2e-30']) {
      expect(skip(number)).toBe(number.length);
      expect(skip(`${number},`)).toBe(number.length);
    }
  });

  test('stops where a number can end, and leaves the rest to the grammar around it', () => {
    expect(skip('01')).toBe(1);
    expect(skip('1.5.5')).toBe(3);
    expect(skip('1-')).toBe(1);
  });

  test('refuses what only begins like a number', () => {
    for (const text of ['-', '1.', '1e', '1e+', '-', '0.e']) {
      expect(skip(text)).toMatch(/unexpected-end|bad-number/);
      expect(skip(`${text},`)).toBe('bad-number');
    }
    expect(skip('.5')).toBe('unexpected-byte');
    expect(skip('+1')).toBe('unexpected-byte');
  });
});
