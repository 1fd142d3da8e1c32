// Two ends of a link between processes, played in one: messages arrive in a later turn, in order, after they have been
// JSON and bytes. What comes before somebody listens waits.

interface Sent {
  readonly head: string;
  readonly payload: Buffer;
}

export class PlayedLink {
  readonly closed: Promise<void>;
  other!: PlayedLink;
  isOpen = true;
  #close!: () => void;
  readonly #listeners = new Map<string, (head: unknown, payload: Buffer) => void>();
  readonly #waiting = new Map<string, Sent[]>();

  constructor() {
    this.closed = new Promise((resolve) => {
      this.#close = resolve;
    });
  }

  send(kind: string, head: unknown, payload: Uint8Array = new Uint8Array()): void {
    if (!this.isOpen) return;
    const sent = { head: JSON.stringify(head), payload: Buffer.from(payload) };
    setImmediate(() => this.other.#arrived(kind, sent));
  }

  on(kind: string, heard: (head: unknown, payload: Buffer) => void): Disposable {
    this.#listeners.set(kind, heard);
    const waiting = this.#waiting.get(kind) ?? [];
    this.#waiting.delete(kind);
    for (const sent of waiting) this.#arrived(kind, sent);
    return { [Symbol.dispose]: () => void this.#listeners.delete(kind) };
  }

  #arrived(kind: string, sent: Sent): void {
    if (!this.isOpen) return;
    const heard = this.#listeners.get(kind);
    if (heard !== undefined) return heard(JSON.parse(sent.head), sent.payload);
    const waiting = this.#waiting.get(kind) ?? [];
    this.#waiting.set(kind, [...waiting, sent]);
  }

  end(): void {
    for (const link of [this, this.other]) {
      link.isOpen = false;
      link.#close();
    }
  }

  [Symbol.dispose](): void {
    this.end();
  }
}

/** The two ends. */
export function playedLinks(): readonly [PlayedLink, PlayedLink] {
  const [one, other] = [new PlayedLink(), new PlayedLink()];
  one.other = other;
  other.other = one;
  return [one, other];
}
