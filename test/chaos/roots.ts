// The roots of one client that has declared some: no two clients have the same. It answers whoever asks
// for them, not at once, and notes when its answer has arrived.

import type { History } from './history.ts';
import type { Message } from './seen.ts';

/** What a client that has roots declares. */
export const rootsCapability = { roots: { listChanged: true } };

export interface OwnRootsOptions {
  readonly history: History;
  /** Resolves when it answers a question that has come. */
  readonly ready: () => Promise<unknown>;
  /** Sends a frame; true when it has arrived. */
  readonly send: (frame: string) => Promise<boolean>;
}

export class OwnRoots {
  /** Resolves when somebody has asked for the first time. */
  readonly asked: Promise<void>;
  readonly #uri: string;
  readonly #options: OwnRootsOptions;
  #wasAsked = () => {};

  constructor(options: OwnRootsOptions) {
    this.#options = options;
    this.#uri = `file:///roots/${options.history.client}`;
    this.asked = new Promise((resolve) => {
      this.#wasAsked = resolve;
    });
    options.history.roots([this.#uri]);
  }

  /** A message that came, if it is the question. */
  heard({ id, method }: Message): void {
    if (method !== 'roots/list' || id === undefined) return;
    this.#wasAsked();
    // Whoever vanishes meanwhile has told nobody.
    this.#answer(id).catch(() => {});
  }

  async #answer(id: unknown): Promise<void> {
    const { ready, send, history } = this.#options;
    await ready();
    const result = { roots: [{ uri: this.#uri }] };
    if (await send(JSON.stringify({ jsonrpc: '2.0', id, result }))) history.told();
  }
}
