import { describe, expect, it } from 'vitest';
import { manualClock } from '../../test/support/manual-clock.ts';
import { NoiseLimit } from './noise-limit.ts';

function newLimit() {
  const clock = manualClock();
  let times = 0;
  const limit = new NoiseLimit(clock, () => {
    times += 1;
  });
  return { clock, limit, exceeded: () => times > 0 };
}

describe('nonsense on stdout', () => {
  it('is tolerated up to a thousand lines a minute', () => {
    const { limit, exceeded } = newLimit();
    for (let line = 0; line < 1_000; line++) limit.count('not-json');
    expect(exceeded()).toBe(false);
    limit.count('not-json');
    expect(exceeded()).toBe(true);
  });

  it('is forgiven after a minute, for ever', () => {
    const { limit, exceeded, clock } = newLimit();
    for (let minute = 0; minute < 10; minute++) {
      for (let line = 0; line < 1_000; line++) limit.count('invalid-message');
      clock.advance(60_001);
    }
    expect(exceeded()).toBe(false);
  });

  it('counts every kind together', () => {
    const { limit, exceeded } = newLimit();
    for (let line = 0; line < 501; line++) {
      limit.count('not-json');
      limit.count('unanswerable-request');
    }
    expect(exceeded()).toBe(true);
  });

  it('is too much at the third frame beyond the limit, however long that takes', () => {
    const { limit, exceeded, clock } = newLimit();
    limit.count('oversized-frame');
    clock.advance(3_600_000);
    limit.count('oversized-frame');
    clock.advance(3_600_000);
    expect(exceeded()).toBe(false);
    limit.count('oversized-frame');
    expect(exceeded()).toBe(true);
  });
});
