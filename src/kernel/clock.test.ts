import { describe, expect, it } from 'vitest';
import { manualClock, settled } from '../../test/support/manual-clock.ts';
import { within } from './clock.ts';

describe('waiting for work within a time', () => {
  it('ends when the work is done and leaves no timer behind', async () => {
    const clock = manualClock();
    await within(clock, 1_000, Promise.resolve());
    expect(clock.pending).toBe(0);
  });

  it('ends when the time is up, whatever becomes of the work', async () => {
    const clock = manualClock();
    let isOver = false;
    let failLate: (error: Error) => void = () => {};
    const work = new Promise<void>((_resolve, reject) => (failLate = reject));
    const waiting = within(clock, 1_000, work).then(() => (isOver = true));
    await clock.advanceAsync(999);
    expect(isOver).toBe(false);
    await clock.advanceAsync(1);
    expect(isOver).toBe(true);
    failLate(new Error('too late to matter'));
    await waiting;
    await settled();
  });

  it('passes on the failure of work that fails in time', async () => {
    const clock = manualClock();
    await expect(within(clock, 1_000, Promise.reject(new RangeError()))).rejects.toThrow(
      RangeError,
    );
    expect(clock.pending).toBe(0);
  });
});

describe('the clock of the tests', () => {
  it('runs timers in the order of their times, also those set meanwhile', () => {
    const clock = manualClock(50);
    const seen: [string, number][] = [];
    const note = (name: string) => seen.push([name, clock.now()]);
    clock.after(20, () => note('second'));
    clock.after(10, () => {
      note('first');
      clock.after(5, () => note('between'));
      clock.after(100, () => note('too late'));
    });
    clock.after(20, () => note('third'));
    clock.after(15, () => note('cancelled'))[Symbol.dispose]();
    clock.advance(20);
    expect(seen).toEqual([
      ['first', 60],
      ['between', 65],
      ['second', 70],
      ['third', 70],
    ]);
    expect(clock.now()).toBe(70);
    clock.after(1, () => {}, true);
    expect([clock.pending, clock.foreground]).toEqual([2, 1]);
  });

  it('lets promises settle between two timers when asked to', async () => {
    const clock = manualClock();
    const seen: number[] = [];
    const tick = async () => {
      await Promise.resolve().then(() => Promise.resolve());
      seen.push(clock.now());
      if (seen.length < 3) clock.after(10, () => void tick());
    };
    clock.after(10, () => void tick());
    await clock.advanceAsync(100);
    expect(seen).toEqual([10, 20, 30]);
  });

  it('keeps wall time apart, and lets it jump', () => {
    const clock = manualClock(7);
    const before = clock.wallNow();
    clock.advance(3);
    clock.jumpWall(-3_600_000);
    expect(clock.wallNow() - before).toBe(3 - 3_600_000);
    expect(clock.now()).toBe(10);
  });
});
