// The link of one hand-over, as the parts of the incumbent use it. Until a successor has taken over, everything that is
// said on it is kept, and what a successor says is not heard: if it is lost, another one is told the same from the
// beginning. A successor does nothing that others could notice before it has taken over, so nothing is done twice.

import { type JsonValue, type Link, LinkError } from './link.ts';

interface Said {
  readonly kind: string;
  readonly head: JsonValue;
  readonly payload: Uint8Array | undefined;
}

type Heard = (head: unknown, payload: Buffer) => void;

/** As much as may wait on a link. */
const maxKeptBytes = 268_435_456;
/** A message that is kept costs more than its bytes. */
const messageBytes = 256;

export class HandOverLink implements Link {
  /** Resolves when the process that has taken over is gone, or nobody will. */
  readonly closed: Promise<void>;
  /** Until one has taken over, at most `maxKeptBytes`. */
  #said: Said[] = [];
  #keptBytes = 0;
  /** One for each kind of our own, until one has taken over. */
  readonly #listeners = new Map<string, Heard>();
  /** Those kinds, from then on: each until it is disposed of, or the process ends. */
  readonly #listening = new Map<string, Disposable>();
  /** To the present successor. */
  #link: Link | undefined;
  #isTaken = false;
  #hasEnded = false;
  #resolveClosed: () => void = () => {};

  constructor() {
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
  }

  /** To this successor from now on. Throws a LinkError if there was too much to keep for it. */
  attach(link: Link): void {
    if (this.#keptBytes > maxKeptBytes) {
      throw new LinkError('overloaded', 'too much was said before a successor has taken over');
    }
    this.#link = link;
    for (const { kind, head, payload } of this.#said) link.send(kind, head, payload);
  }

  /** The present successor has taken over. */
  taken(): void {
    const link = this.#link;
    if (link === undefined || this.#isTaken) return;
    this.#isTaken = true;
    this.#said = [];
    for (const [kind, heard] of this.#listeners) this.#listening.set(kind, link.on(kind, heard));
    this.#listeners.clear();
    link.closed.then(this.#resolveClosed).catch(this.#resolveClosed);
  }

  get isOpen(): boolean {
    return !this.#hasEnded && (!this.#isTaken || this.#link?.isOpen === true);
  }

  get fault(): LinkError | undefined {
    return this.#isTaken ? this.#link?.fault : undefined;
  }

  send(kind: string, head: JsonValue, payload?: Uint8Array): void {
    if (this.#hasEnded) return;
    if (!this.#isTaken) this.#keep({ kind, head, payload });
    this.#link?.send(kind, head, payload);
  }

  /** What it could not be told whole, no later successor may be told in part. */
  #keep(said: Said): void {
    if (this.#keptBytes > maxKeptBytes) return;
    this.#keptBytes += messageBytes + (said.payload?.length ?? 0);
    if (this.#keptBytes <= maxKeptBytes) this.#said.push(said);
    else this.#said = [];
  }

  on(kind: string, heard: Heard): Disposable {
    if (this.#isTaken && this.#link !== undefined) return this.#link.on(kind, heard);
    if (this.#listeners.has(kind)) throw new TypeError(`${kind} messages are listened to already`);
    this.#listeners.set(kind, heard);
    return {
      [Symbol.dispose]: () => {
        this.#listening.get(kind)?.[Symbol.dispose]();
        if (this.#listeners.get(kind) === heard) this.#listeners.delete(kind);
      },
    };
  }

  fail(error: unknown): void {
    this.#link?.fail(error);
  }

  /** Everything that was sent still arrives; nothing more is heard here. */
  [Symbol.dispose](): void {
    this.#hasEnded = true;
    this.#link?.[Symbol.dispose]();
    if (!this.#isTaken) this.#resolveClosed();
  }
}
