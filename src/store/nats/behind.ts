// Work that nobody needs to wait for, such as erasing what was replaced: a few at a time. If more comes than is done,
// callers wait for their own, so that it does not pile up.

import { Turns } from '../../kernel/turns.ts';

const atOnce = 4;
const mostWaiting = 32;

export class Behind {
  readonly #turns = new Turns(atOnce);
  #waiting = 0;

  /** Resolves at once, or when the work is done; what it rejects with goes to `failed`. */
  async run(work: () => Promise<void>, failed: (error: unknown) => void): Promise<void> {
    this.#waiting += 1;
    const done = this.#turns
      .run(work)
      .catch(failed)
      .finally(() => {
        this.#waiting -= 1;
      });
    if (this.#waiting > mostWaiting) await done;
  }
}
