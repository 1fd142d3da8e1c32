// MCP clients that come over sockets of this machine, each as if it were on stdio: one client for each
// connection, until it is closed.

import { randomInt } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { ClientFolder } from '../../host/connections/client-folder.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { OutgoingBudget } from '../outgoing/outgoing-budget.ts';
import { type StdioFront, type StdioFrontParts, startStdio } from './stdio-front.ts';

export interface SocketClientsParts {
  readonly front: StdioFrontParts['front'];
  readonly clock: Clock;
  readonly outgoing: OutgoingBudget;
  readonly frameBytes: number;
}

/** How long a client may take to read the last answers. */
const lastWordsMs = 500;

export class SocketClients {
  readonly #parts: SocketClientsParts;
  /** Until their sockets are closed; the listener of the sockets allows only so many. */
  readonly #fronts = new Set<StdioFront>();
  #count = 0;
  #sizeChanged: () => void = () => {};

  constructor(parts: SocketClientsParts) {
    this.#parts = parts;
  }

  /** Resolves when there has been no client for so long, from now on. */
  idleFor(ms: number): Promise<void> {
    return new Promise((resolve) => {
      let timer: Disposable | undefined;
      this.#sizeChanged = () => {
        timer?.[Symbol.dispose]();
        timer = this.#fronts.size > 0 ? undefined : this.#parts.clock.after(ms, resolve);
      };
      this.#sizeChanged();
    });
  }

  /** Serves it until either side ends; `folder` is where its client was started. */
  add(socket: Duplex, folder?: ClientFolder): void {
    this.#count += 1;
    const clientKey = `socket-${this.#count}`;
    // A client of connect may answer a question of the instance before this one.
    const firstQuestion = randomInt(2 ** 47);
    const streams = { input: socket, output: socket };
    const front = startStdio({ ...this.#parts, ...streams, clientKey, firstQuestion, folder });
    // It was paused when its greeting had been read.
    socket.resume();
    this.#fronts.add(front);
    this.#sizeChanged();
    const end = async () => {
      await front.close(lastWordsMs);
      this.#fronts.delete(front);
      this.#sizeChanged();
      socket.destroy();
    };
    Promise.race([front.inputEnded, front.gone])
      .then(end)
      .catch((error: unknown) => this.#parts.front.caught(error));
  }

  /** The last answers are sent, and every connection is closed. */
  async close(): Promise<void> {
    await Promise.all([...this.#fronts].map((front) => front.close(lastWordsMs)));
  }
}
