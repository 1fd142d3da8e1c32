// A clock for opening files one after the other, thousands of times: what would wait for milliseconds
// comes at once, what would wait for longer never comes.

import type { Clock } from '../../src/kernel/clock.ts';

const soonMs = 500;

export const hurriedClock: Clock = {
  now: () => performance.now(),
  wallNow: () => Date.now(),
  after(ms, task) {
    if (ms >= soonMs) return { [Symbol.dispose]: () => {} };
    const timer = setImmediate(task);
    return { [Symbol.dispose]: () => clearImmediate(timer) };
  },
};
