// A line for the operator about something that a client can cause as often as it likes: the first at once, then at
// most one a minute, with the number of those between. So nobody can fill a log with it.

import type { Clock } from './clock.ts';

const betweenMs = 60_000;

export class RareLine {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #report: (line: string) => void;
  #toldAt = Number.NEGATIVE_INFINITY;
  #untold = 0;

  constructor(clock: Pick<Clock, 'now'>, report: (line: string) => void) {
    this.#clock = clock;
    this.#report = report;
  }

  /** `line` is made only if it is told. */
  say(line: () => string): void {
    const now = this.#clock.now();
    if (now - this.#toldAt < betweenMs) {
      this.#untold += 1;
      return;
    }
    const more = this.#untold === 0 ? '' : `; ${this.#untold} more since the line before`;
    this.#toldAt = now;
    this.#untold = 0;
    this.#report(`${line()}${more}`);
  }
}
