import { describe, expect, it } from 'vitest';
import { manualClock } from '../../test/support/manual-clock.ts';
import { Retry } from './retry.ts';

function setUp() {
  const clock = manualClock();
  const attempts: number[] = [];
  const retry = new Retry(clock, () => {
    attempts.push(clock.now());
    retry.refused();
  });
  return { clock, attempts, retry };
}

describe('trying again', () => {
  it('comes after a second, then each time twice as long, up to a minute', () => {
    const { clock, attempts, retry } = setUp();
    retry.refused();
    clock.advance(300_000);
    const pauses = attempts.map((at, index) => at - (attempts[index - 1] ?? 0));
    expect(pauses.slice(0, 8)).toEqual([
      1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000,
    ]);
  });

  it('is planned once, however often something is refused', () => {
    const { clock, attempts, retry } = setUp();
    retry.refused();
    retry.refused();
    clock.advance(1_000);
    expect(attempts).toHaveLength(1);
  });

  it('begins anew after a success, and keeps no process alive', () => {
    const { clock, attempts, retry } = setUp();
    retry.refused();
    clock.advance(3_000);
    retry.succeeded();
    expect(clock.pending).toBe(0);
    retry.refused();
    expect(clock.foreground).toBe(0);
    clock.advance(1_000);
    expect(attempts).toEqual([1_000, 3_000, 4_000]);
  });

  it('is not planned any more after the end', () => {
    const { clock, retry } = setUp();
    retry[Symbol.dispose]();
    retry.refused();
    expect(clock.pending).toBe(0);
  });
});
