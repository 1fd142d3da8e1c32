// Told letters that are refused: each worker gets so many answers in a second.

import { expect, it } from 'vitest';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { RefusalRate, refusalsInTime } from './refusal-rate.ts';

it('a worker whose told letters are refused gets so many answers in a second, and others theirs #no-growth', () => {
  const clock = manualClock();
  const rate = new RefusalRate(clock);
  const answered = (worker: string, letters: number) =>
    Array.from({ length: letters }, () => rate.take(worker)).filter(Boolean).length;
  expect(answered('ann', refusalsInTime + 10)).toBe(refusalsInTime);
  expect(answered('bob', 3)).toBe(3);
  clock.advance(999);
  expect(answered('ann', 1)).toBe(0);
  clock.advance(1);
  expect(answered('ann', 1)).toBe(1);
});
