// Which gateway was rolled over, and when, for the checker: from when somebody asked for it until the new process had
// taken over. It excuses nothing; it says which calls a rollout can have cost.

import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { monotonicMs } from '../history.ts';

export class RolloutLog {
  readonly #file: string;

  constructor(folder: string) {
    this.#file = join(folder, 'rollouts.jsonl');
    writeFileSync(this.#file, '');
  }

  /** `gateway`: as histories name it; `from`: when it was asked for. */
  tookOver(gateway: string, from: number): void {
    const line = { t: monotonicMs(), event: 'rolled', gateway, from };
    appendFileSync(this.#file, `${JSON.stringify(line)}\n`);
  }
}
