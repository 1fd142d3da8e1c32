// How much nonsense a server may write before it is taken for broken. Banners and stray log lines
// are common and harmless; a thousand a minute, or a third oversized frame, are not.

import type { Clock } from '../kernel/clock.ts';
import type { Noise } from '../observe/events.ts';

const windowMs = 60_000;
const linesPerWindow = 1_000;
const oversizedStrikes = 3;

export class NoiseLimit {
  readonly #clock: Clock;
  readonly #exceeded: () => void;
  #windowStart = Number.NEGATIVE_INFINITY;
  #lines = 0;
  #oversized = 0;

  constructor(clock: Clock, exceeded: () => void) {
    this.#clock = clock;
    this.#exceeded = exceeded;
  }

  count(noise: Noise): void {
    // The answer to a call we gave up on is late by our doing, not by the server's.
    if (noise === 'late-answer') return;
    if (noise === 'oversized-frame') {
      this.#oversized += 1;
      if (this.#oversized >= oversizedStrikes) this.#exceeded();
      return;
    }
    const now = this.#clock.now();
    if (now - this.#windowStart > windowMs) {
      this.#windowStart = now;
      this.#lines = 0;
    }
    this.#lines += 1;
    if (this.#lines > linesPerWindow) this.#exceeded();
  }
}
