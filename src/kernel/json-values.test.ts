import { describe, expect, it } from 'vitest';
import { isRecord } from './json-values.ts';

describe('a JSON object', () => {
  it.each([[{}], [{ a: 1 }], [Object.create(null)]])('is one: %j', (value) => {
    expect(isRecord(value)).toBe(true);
  });

  it.each([null, undefined, 'x', 1, true, [], [{}]].map((value) => [value]))(
    'is none: %j',
    (value) => {
      expect(isRecord(value)).toBe(false);
    },
  );
});
