// Lines for an operator, of which equal ones can come without end because somebody outside causes them: the first is
// told at once, and equal ones within a minute are only counted. The next one after that minute says how many there
// were between.

import type { Clock } from './clock.ts';

const betweenMs = 60_000;
/** Beyond this many different lines the one told longest ago is forgotten, and would be told again. */
const maxLines = 64;

interface Told {
  readonly at: number;
  untold: number;
}

export class RepeatedLines {
  readonly #clock: Clock;
  readonly #report: (line: string) => void;
  /** By line, the one told longest ago first; at most `maxLines`. */
  readonly #told = new Map<string, Told>();

  constructor(clock: Clock, report: (line: string) => void) {
    this.#clock = clock;
    this.#report = report;
  }

  say(line: string): void {
    const now = this.#clock.now();
    const told = this.#told.get(line);
    if (told !== undefined && now - told.at < betweenMs) {
      told.untold += 1;
      return;
    }
    this.#told.delete(line);
    this.#told.set(line, { at: now, untold: 0 });
    if (this.#told.size > maxLines) this.#forgetOldest();
    const { untold = 0 } = told ?? {};
    this.#report(untold === 0 ? line : `${line} (and ${untold} times since the line before)`);
  }

  #forgetOldest(): void {
    for (const line of this.#told.keys()) {
      this.#told.delete(line);
      return;
    }
  }
}
