// The link between an incumbent and its successor (src/rollout), played in one process: messages arrive later, in
// order, and only what JSON and bytes can say.

import type { ClientLink, LinkHead } from '../../src/downstream/stdio/handed-stdio.ts';

type Heard = (head: unknown, payload: Buffer) => void;

export class PlayedLink implements ClientLink {
  readonly closed: Promise<void>;
  /** Bytes that were sent and not delivered. */
  waitingBytes = 0;
  #other!: PlayedLink;
  #close!: () => void;
  #isOpen = true;
  readonly #listeners = new Map<string, Heard>();
  readonly #waiting: (readonly [string, string, Buffer])[] = [];

  private constructor() {
    this.closed = new Promise((resolve) => {
      this.#close = resolve;
    });
  }

  static pair(): readonly [PlayedLink, PlayedLink] {
    const [one, other] = [new PlayedLink(), new PlayedLink()];
    one.#other = other;
    other.#other = one;
    return [one, other];
  }

  send(kind: string, head: LinkHead, payload: Uint8Array = Buffer.alloc(0)): void {
    if (!this.#isOpen) return;
    const text = JSON.stringify(head);
    const bytes = Buffer.from(payload);
    this.waitingBytes += bytes.length;
    setImmediate(() => {
      this.waitingBytes -= bytes.length;
      this.#other.#deliver(kind, text, bytes);
    });
  }

  on(kind: string, heard: Heard): Disposable {
    this.#listeners.set(kind, heard);
    const waiting = this.#waiting.splice(0);
    queueMicrotask(() => {
      for (const [of, head, bytes] of waiting) this.#deliver(of, head, bytes);
    });
    return { [Symbol.dispose]: () => void this.#listeners.set(kind, () => {}) };
  }

  /** One of the two processes has ended; what was sent before still arrives. */
  end(): void {
    setImmediate(() => {
      for (const side of [this, this.#other]) {
        side.#isOpen = false;
        side.#close();
      }
    });
  }

  #deliver(kind: string, head: string, bytes: Buffer): void {
    const heard = this.#listeners.get(kind);
    if (heard) heard(JSON.parse(head), bytes);
    else this.#waiting.push([kind, head, bytes]);
  }
}
