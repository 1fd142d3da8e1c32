import { describe, expect, it } from 'vitest';
import { nextWaitMs } from './resumption.ts';

describe('the wait before an answer is asked for again', () => {
  it.each([
    ['is what the server says', 0, 500, 500],
    ['is a second if it says nothing', 0, undefined, 1_000],
    ['is never nothing', 0, 0, 50],
    ['grows with every attempt that brings nothing', 1, 500, 2_000],
    ['grows on', 2, undefined, 4_000],
    ['is never shorter than what the server says', 2, 60_000, 60_000],
    ['ends after three of them', 3, 500, undefined],
  ])('%s', (_name, fruitless, retryMs, waitMs) => {
    expect(nextWaitMs(fruitless, retryMs)).toBe(waitMs);
  });
});
