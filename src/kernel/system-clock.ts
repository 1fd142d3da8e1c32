// The real clock: the one file in src/ that may read the time or set a timer.

import type { Clock } from './clock.ts';
import { longestTimerMs } from './duration.ts';

class SystemTimer implements Disposable {
  #timer: NodeJS.Timeout;

  constructor(ms: number, task: () => void, background: boolean) {
    this.#timer = setTimeout(task, ms);
    if (background) this.#timer.unref();
  }

  /** A delay longer than one timer allows is split into several timers. */
  static long(ms: number, task: () => void, background: boolean): SystemTimer {
    const next = () => {
      leftMs -= longestTimerMs;
      const isLast = leftMs <= longestTimerMs;
      timer.#timer = setTimeout(isLast ? task : next, Math.min(leftMs, longestTimerMs));
      if (background) timer.#timer.unref();
    };
    let leftMs = ms;
    const timer = new SystemTimer(longestTimerMs, next, background);
    return timer;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

export const systemClock: Clock = {
  now: () => performance.now(),
  wallNow: () => Date.now(),
  after: (ms, task, background = false) =>
    ms > longestTimerMs
      ? SystemTimer.long(ms, task, background)
      : new SystemTimer(ms, task, background),
};

/** Monotonic, and the same for all processes of this machine, in milliseconds. */
export function machineTime(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
