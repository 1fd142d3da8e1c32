// How fast one link may send. A manual clock.

import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { FrameRate } from './frame-rate.ts';

function taken(rate: FrameRate, frames: number): number {
  let waitMs = 0;
  for (let frame = 0; frame < frames; frame += 1) waitMs = rate.taken();
  return waitMs;
}

describe('the rate of a link', () => {
  it('is 20,000 frames at once, and then 40,000 in a second #no-growth', () => {
    const clock = manualClock();
    const rate = new FrameRate(clock);
    expect(taken(rate, 20_000)).toBe(0);
    expect(rate.taken()).toBe(10);
    // What was read already counts: it waits longer.
    expect(taken(rate, 1_999)).toBe(50);
    clock.advance(50);
    expect(rate.taken()).toBe(10);
    clock.advance(1_000);
    expect(taken(rate, 20_000)).toBe(0);
    expect(rate.taken()).toBe(10);
  });

  it('is less for frames with long headers, as much as they are longer #principal-share', () => {
    const clock = manualClock();
    const rate = new FrameRate(clock);
    for (let frame = 0; frame < 12; frame += 1) expect(rate.taken(51_200)).toBe(0);
    expect(rate.taken(51_200)).toBeGreaterThan(10);
    clock.advance(1_000);
    expect([rate.taken(255), rate.taken(0)]).toEqual([0, 0]);
  });

  it('is owed by whoever asks before the next frame, until it may be sent #principal-share', () => {
    const clock = manualClock();
    const rate = new FrameRate(clock);
    expect(rate.owed()).toBe(0);
    taken(rate, 22_000);
    expect(rate.owed()).toBe(50);
    clock.advance(50);
    expect(rate.owed()).toBe(0);
  });

  it('is a twentieth of that for frames that are refused for want of room #principal-share', () => {
    const clock = manualClock();
    const rate = new FrameRate(clock);
    const refused = (frames: number) => {
      let waitMs = 0;
      for (let frame = 0; frame < frames; frame += 1) waitMs = rate.taken() + rate.refused();
      return waitMs;
    };
    expect(refused(1_000)).toBe(0);
    expect(refused(100)).toBeGreaterThan(10);
    clock.advance(50);
    expect(rate.taken()).toBe(10);
  });

  it('does not save up more than it may send at once', () => {
    const clock = manualClock();
    const rate = new FrameRate(clock);
    taken(rate, 10_000);
    clock.advance(60_000);
    expect(taken(rate, 20_000)).toBe(0);
    expect(rate.taken()).toBe(10);
  });
});
