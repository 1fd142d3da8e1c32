import { describe, expect, it } from 'vitest';
import { lifetimeFrom } from './token-lifetime.ts';

describe('the lifetime of a token', () => {
  it.each([
    ['30d', 2_592_000_000],
    ['12h', 43_200_000],
    ['90m', 5_400_000],
    ['3650d', 315_360_000_000],
  ])('is read from %s', (text, ms) => {
    expect(lifetimeFrom(text)).toBe(ms);
  });

  it.each(['', '0d', '0m', '-1d', '30', 'd', '1.5h', '30 d', '30s', '1w', '3651d', '999999999d'])(
    'is not read from %j',
    (text) => {
      expect(() => lifetimeFrom(text)).toThrow(`--expires ${text}`);
    },
  );
});
