// The requests that were passed on to other replicas and have no whole answer yet. They run elsewhere, but over a
// connection of this replica: if it ended before them, they would be cancelled there. So it waits for them while it shuts
// down, as it does for its own.

import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { type Clock, within } from '../../../kernel/clock.ts';

export class UnderWay {
  readonly #clock: Clock;
  /** With the connections that they use, each until its response is closed; at most one for each request. */
  readonly #requests = new Map<ServerResponse, Duplex>();
  /** Those whose end is heard of, each as long as it is used: one may be passed on again and again. */
  readonly #heard = new WeakSet<ServerResponse>();
  #quiet: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#requests.size;
  }

  began(res: ServerResponse, connection: Duplex): void {
    if (res.closed) return;
    if (!this.#heard.has(res)) res.once('close', () => this.ended(res));
    this.#heard.add(res);
    this.#requests.set(res, connection);
  }

  ended(res: ServerResponse): void {
    this.#requests.delete(res);
    if (this.#requests.size === 0) this.#quiet?.();
  }

  /** Resolves when there are none; those that are left after this time are ended, and their clients told. */
  async drain(ms: number): Promise<void> {
    const quiet = new Promise<void>((resolve) => {
      this.#quiet = resolve;
    });
    if (this.#requests.size > 0) await within(this.#clock, ms, quiet);
    for (const connection of [...this.#requests.values()]) connection.destroy();
  }
}
