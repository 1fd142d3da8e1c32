// Changes of one key, one after the other: what one process asks for happens in the order in which it was asked,
// also where a change takes several requests.

import { ignored } from '../kernel/contain.ts';

export class Lanes {
  /** The last change of each key, until it has ended; bounded by the callers that wait. */
  readonly #last = new Map<string, Promise<unknown>>();

  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const mine = before === undefined ? work() : before.then(work);
    const ended = mine.catch(ignored).finally(() => {
      if (this.#last.get(key) === ended) this.#last.delete(key);
    });
    this.#last.set(key, ended);
    return mine;
  }

  /** Resolves when all that was asked for before has ended. */
  async idle(): Promise<void> {
    await Promise.all(this.#last.values());
  }
}
