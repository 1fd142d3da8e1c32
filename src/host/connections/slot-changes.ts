// Tells those who wait that it may be decided differently where a server's calls go: a call or a reading
// of lists has ended, a connection was opened or has ended, clients were separated, the server has ended.

import type { Signal } from '../../kernel/cancel-signal.ts';
import { ignored } from '../../kernel/contain.ts';

export class SlotChanges {
  /** Of calls that wait for others, until they do not. */
  readonly #listeners = new Set<() => void>();

  /** How many calls wait until one of these changes gives them a connection. */
  waiting = 0;

  tell(): void {
    if (this.#listeners.size === 0) return;
    for (const listener of [...this.#listeners]) listener();
  }

  /** Calls the listener for each change. To be disposed of. */
  on(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  /** Resolves with the next change, or when this signal is raised. */
  async next(signal: Signal): Promise<void> {
    if (signal.aborted) return;
    let resolve = ignored;
    const change = new Promise<void>((done) => {
      resolve = done;
    });
    using _listening = this.on(resolve);
    signal.addEventListener('abort', resolve);
    await change;
    signal.removeEventListener('abort', resolve);
  }
}
