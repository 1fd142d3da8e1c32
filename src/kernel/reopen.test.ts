import { describe, expect, it } from 'vitest';
import { reopenMs } from './reopen.ts';

describe('the wait before a stream is opened again', () => {
  it.each([
    ['is a second at first', { waitedMs: 0, lastedMs: 0 }, 1_000],
    ['doubles', { waitedMs: 4_000, lastedMs: 29_999 }, 8_000],
    ['has a maximum', { waitedMs: 30_000, lastedMs: 0 }, 30_000],
    ['begins anew after a stretch of health', { waitedMs: 30_000, lastedMs: 30_000 }, 1_000],
    [
      'is never shorter than what the server says',
      { waitedMs: 0, lastedMs: 0, retryMs: 9_000 },
      9_000,
    ],
  ])('%s', (_name, ended, ms) => {
    expect(reopenMs(ended, 30_000)).toBe(ms);
  });
});
