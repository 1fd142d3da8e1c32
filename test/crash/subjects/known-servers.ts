// What other subjects need of the verdicts: the gateway lists what it has kept of a server only while it
// knows which eras and classes of clients the server tells apart. A user who removes the verdicts, or a
// death between two writes, makes it ask the server again, and then it lists what the server has now.
// A verdict that was kept and is gone without that is a loss like any other.

import { basename } from 'node:path';
import type { CrashHome } from '../home.ts';
import { keptRecords } from '../kept-records.ts';
import type { Shipped } from '../shipped.ts';
import { concerns, type Fate, type Violation } from './subject.ts';

const verdicts = ['store/verdicts'];

export class KnownServers {
  readonly #home: CrashHome;
  readonly #shipped: Shipped;
  readonly #entries: () => readonly object[];
  /** Were all of them known when this life began? */
  #before = false;
  #acknowledged = false;

  constructor(home: CrashHome, shipped: Shipped, entries: () => readonly object[]) {
    this.#home = home;
    this.#shipped = shipped;
    this.#entries = entries;
  }

  forget(part: string): void {
    if (concerns(verdicts, part)) this.#acknowledged = false;
  }

  /** Before a start: is there enough to list what is kept? */
  begin(): boolean {
    this.#before = this.#areKnown();
    this.#acknowledged = this.#before;
    return this.#before;
  }

  observe(): void {
    this.#acknowledged ||= this.#areKnown();
  }

  examine({ isPowerCut }: Fate): readonly Violation[] {
    const isDue = isPowerCut ? this.#before : this.#acknowledged;
    if (!isDue || this.#areKnown()) return [];
    return [{ wrong: 'lost', text: 'what was known of a server is gone' }];
  }

  #areKnown(): boolean {
    const { records } = keptRecords(this.#shipped, this.#home, 'verdicts');
    const kept = new Map(records.map(({ file, value }) => [file, value]));
    return this.#entries().every((entry) => {
      const file = basename(this.#shipped.recordOf('verdicts', entry, this.#home.folder));
      const { modern, classes } = (kept.get(file) ?? {}) as Record<string, unknown>;
      return modern === false && classes === 'alike';
    });
  }
}
