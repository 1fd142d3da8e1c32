import { describe, expect, it } from 'vitest';
import { failedAttempt, type ListAttempts, mayTry, noAttempts } from './list-attempts.ts';

const whole = { left: 5, max: 5 };
const none = { left: null, max: null };

function failed(times: number, now = 0): ListAttempts {
  let attempts = noAttempts;
  for (let count = 0; count < times; count += 1) attempts = failedAttempt(attempts, now);
  return attempts;
}

describe('a list that needs a server which has never given it', () => {
  it('tries it at once, whatever is left of the budget', () => {
    expect(mayTry(noAttempts, 0, { left: 0, max: 0 })).toBe(true);
  });

  it('tries again after a pause that doubles, up to five minutes', () => {
    const pauses = [1, 2, 3, 9, 10, 50].map((times) => failed(times).nextAt);
    expect(pauses).toEqual([1_000, 2_000, 4_000, 256_000, 300_000, 300_000]);
    expect(mayTry(failed(1), 999, whole)).toBe(false);
    expect(mayTry(failed(1), 1_000, whole)).toBe(true);
  });

  it('leaves half of the restart budget to calls', () => {
    const lefts = [5, 4, 3, 2, 1, 0];
    expect(lefts.map((left) => mayTry(failed(1), 1_000, { left, max: 5 }))).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
  });

  it('has only the pauses where there is no budget', () => {
    expect(mayTry(failed(20), 299_999, none)).toBe(false);
    expect(mayTry(failed(20), 300_000, none)).toBe(true);
  });
});
