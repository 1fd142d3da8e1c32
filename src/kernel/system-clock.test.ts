import { afterEach, describe, expect, it, vi } from 'vitest';
import { longestTimerMs } from './duration.ts';
import { systemClock } from './system-clock.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

/** The timers that the runtime was asked for, run by the test. */
function recordedTimers() {
  const timers: { readonly ms: number; readonly run: () => void; isCleared: boolean }[] = [];
  const set = (run: () => void, ms = 0) => {
    const timer = { ms, run, isCleared: false, unref: () => {} };
    timers.push(timer);
    return timer;
  };
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(set as unknown as typeof setTimeout);
  const clear = (timer: { isCleared: boolean }) => {
    timer.isCleared = true;
  };
  vi.spyOn(globalThis, 'clearTimeout').mockImplementation(clear as unknown as typeof clearTimeout);
  return timers;
}

describe('the real clock', () => {
  it('waits for longer than a timer of the runtime can, which would fire at once #deadline', () => {
    const timers = recordedTimers();
    const task = vi.fn();
    systemClock.after(2 * longestTimerMs + 5, task);
    expect(timers.map(({ ms }) => ms)).toEqual([longestTimerMs]);
    timers[0]?.run();
    timers[1]?.run();
    expect([timers.map(({ ms }) => ms), task.mock.calls.length]).toEqual([
      [longestTimerMs, longestTimerMs, 5],
      0,
    ]);
    timers[2]?.run();
    expect(task).toHaveBeenCalledOnce();
  });

  it('ends a long wait whichever of its timers is set', () => {
    const timers = recordedTimers();
    const waiting = systemClock.after(Number.POSITIVE_INFINITY, () => {}, true);
    timers[0]?.run();
    waiting[Symbol.dispose]();
    expect(timers.map(({ isCleared }) => isCleared)).toEqual([false, true]);
  });
});
