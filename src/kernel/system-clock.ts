// The real clock: the one file in src/ that may read the time or set a timer.

import type { Clock } from './clock.ts';

class SystemTimer implements Disposable {
  readonly #timer: NodeJS.Timeout;

  constructor(ms: number, task: () => void, background: boolean) {
    this.#timer = setTimeout(task, ms);
    if (background) this.#timer.unref();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

export const systemClock: Clock = {
  now: () => performance.now(),
  wallNow: () => Date.now(),
  after: (ms, task, background = false) => new SystemTimer(ms, task, background),
};
