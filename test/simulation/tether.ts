// What ties one process of a host to the world: its timers, and the right to be told anything. When it
// is killed the tether is cut. Nothing that the dead host planned happens, nothing that the world
// has for it arrives, and whatever it still awaits never comes; to the world it is as if the process
// had gone from one instant to the next, which is what SIGKILL is.

import type { Clock } from '../../src/kernel/clock.ts';
import type { VirtualClock } from './virtual-clock.ts';

export class Tether implements Clock {
  readonly #clock: VirtualClock;
  /** Timers that the host has set and that have neither fired nor been disposed of. */
  timers = 0;
  isCut = false;
  /** The monotonic clock of every process begins elsewhere. */
  readonly #offsetMs: number;

  constructor(clock: VirtualClock, offsetMs = 0) {
    this.#clock = clock;
    this.#offsetMs = offsetMs;
  }

  now(): number {
    return this.#clock.now() + this.#offsetMs;
  }

  wallNow(): number {
    return this.#clock.wallNow();
  }

  /** The host's way in. */
  after(ms: number, task: () => void): Disposable {
    this.timers += 1;
    return this.#clock.later(ms, task, this, true);
  }

  /** A plan of those who use the host, which is no timer of the host. */
  later(ms: number, task: () => void): Disposable {
    return this.#clock.later(ms, task, this);
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.later(ms, resolve));
  }
}
