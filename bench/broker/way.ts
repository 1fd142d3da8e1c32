// How a request gets from the requester to the responder, and its answer back: one file for each kind of broker. All
// have the same form, so that the processes at both ends do the same whatever is between them.

export interface Requester {
  /** Resolves to the answer. */
  ask(body: Buffer): Promise<Buffer>;
  /** Resolves when everything that was asked is confirmed, where the way confirms anything. */
  settled(): Promise<void>;
}

/** Where a broker is, and as whom one opens a link to it. */
export interface Place {
  readonly url: string;
  readonly requester: string;
  readonly responder: string;
}

export const wayNames = [
  'bare ws',
  'embedded, told',
  'embedded, kept',
  'bare NATS',
  'NATS, told',
  'NATS, kept',
] as const;

export type WayName = (typeof wayNames)[number];

/** The places of all brokers, by the kind of link. */
export interface Places {
  readonly relay: Place;
  readonly embedded: Place;
  readonly bareNats: Place;
  readonly nats: Place;
}

/** Requests that wait for their answers, by id; at most as many as are in flight. */
export class Answers {
  readonly #waiting = new Map<string, (body: Buffer) => void>();
  #next = 0;

  /** The id of a request, and its answer. */
  wait(): { readonly id: string; readonly answer: Promise<Buffer> } {
    this.#next += 1;
    const id = String(this.#next);
    const answer = new Promise<Buffer>((resolve) => this.#waiting.set(id, resolve));
    return { id, answer };
  }

  came(id: string, body: Buffer): void {
    const resolve = this.#waiting.get(id);
    this.#waiting.delete(id);
    resolve?.(body);
  }
}
