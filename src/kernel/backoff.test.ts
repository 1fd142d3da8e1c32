import { describe, expect, it } from 'vitest';
import { backoffMs } from './backoff.ts';

const backoff = { firstMs: 1_000, longestMs: 60_000 };

describe('the wait before the next attempt', () => {
  it.each([
    [0, 1_000],
    [1, 2_000],
    [5, 32_000],
    [6, 60_000],
    [1_000_000, 60_000],
  ])('doubles up to its maximum: after %i repeats %i ms', (repeats, ms) => {
    expect(backoffMs(backoff, repeats)).toBe(ms);
  });

  it('is at most a fifth shorter with jitter, and never longer', () => {
    expect(backoffMs(backoff, 0, 0.5)).toBe(900);
    expect(backoffMs(backoff, 9, 0.999_999)).toBe(48_000);
    expect(backoffMs(backoff, 9, 0)).toBe(60_000);
  });
});
