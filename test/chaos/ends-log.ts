// When an instance was being ended, for the checker: each end has a line when it began and one when it was over, with a
// number of its own, because two may be under way at a time. Whether something was an end may be known only afterwards;
// then both lines are written at once.

import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { monotonicMs } from './history.ts';

export class EndsLog {
  readonly #file: string;
  #count = 0;

  constructor(folder: string, file: string) {
    this.#file = join(folder, file);
    writeFileSync(this.#file, '');
  }

  /** An end begins; to be called when it is over. */
  begin(way: string): () => void {
    this.#count += 1;
    const which = this.#count;
    this.#write({ t: monotonicMs(), event: 'ending', which, way });
    return () => this.#write({ t: monotonicMs(), event: 'ended', which, way });
  }

  /** One that has begun at this time, and is over now. */
  note(way: string, from: number): void {
    this.#count += 1;
    this.#write({ t: from, event: 'ending', which: this.#count, way });
    this.#write({ t: monotonicMs(), event: 'ended', which: this.#count, way });
  }

  #write(line: object): void {
    appendFileSync(this.#file, `${JSON.stringify(line)}\n`);
  }
}
