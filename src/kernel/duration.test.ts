import { describe, expect, it } from 'vitest';
import { durationFrom, longestTimerMs } from './duration.ts';
import { Fault } from './fault.ts';

describe('a duration from outside', () => {
  it.each([1, 0.5, 60_000, longestTimerMs])('of %s ms is taken as it is', (ms) => {
    expect(durationFrom(ms, 'timeoutMs')).toBe(ms);
  });

  it.each([longestTimerMs + 1, 2 ** 53, Number.POSITIVE_INFINITY])(
    'of %s ms is the longest',
    (ms) => {
      expect(durationFrom(ms, 'timeoutMs')).toBe(longestTimerMs);
    },
  );

  it.each([Number.NaN, 0, -1, Number.NEGATIVE_INFINITY, '5000', null, {}, 5n, true])(
    'that is %s is refused, and the option is named',
    (ms) => {
      expect(() => durationFrom(ms, 'timeoutMs')).toThrow(Fault);
      expect(() => durationFrom(ms, 'timeoutMs')).toThrow(/timeoutMs must be a number/);
    },
  );
});
