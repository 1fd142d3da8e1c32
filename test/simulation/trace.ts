// Everything that happens in a run, as one hash: each event of the host with its virtual time, each
// line of the servers' ledger, each answer to a call. Two runs of one seed that differ anywhere have
// different hashes. The lines themselves are kept only for somebody who looks for a cause.

import { createHash } from 'node:crypto';
import type { VirtualClock } from './virtual-clock.ts';

const gatherChars = 32_768;

export class Trace {
  readonly #clock: VirtualClock;
  readonly #hash = createHash('sha256');
  readonly #kept: string[] | undefined;
  #gathered = '';

  constructor(clock: VirtualClock, isKept: boolean) {
    this.#clock = clock;
    this.#kept = isKept ? [] : undefined;
  }

  add(line: string): void {
    const stamped = `${this.#clock.now()} ${line}\n`;
    this.#kept?.push(stamped);
    this.#gathered += stamped;
    if (this.#gathered.length > gatherChars) this.#flush();
  }

  get lines(): readonly string[] {
    return this.#kept ?? [];
  }

  /** The hash over all that was added; the trace is closed by asking for it. */
  digest(): string {
    this.#flush();
    return this.#hash.digest('hex');
  }

  #flush(): void {
    this.#hash.update(this.#gathered);
    this.#gathered = '';
  }
}
