// What comes in on one link, one frame after the other. While there is a reason to take nothing more (a hold), nothing
// is read from the socket. A socket gives several frames at once, and one frame can cause much more than its own bytes:
// so the holds are looked at before each of them, and those that were read already wait here, in their order.

import type { WebSocket } from 'ws';

/** Why nothing is taken from a link for now. */
export type Hold = 'disk' | 'rate' | 'unread';

export interface LinkIntakeParts {
  readonly socket: Pick<WebSocket, 'pause' | 'resume' | 'pong'>;
  /** Too much waits to be sent to this link. */
  readonly isBehind: () => boolean;
  /** Before each frame: it may hold this link. */
  readonly before: () => void;
  readonly take: (frame: Buffer) => void;
}

export class LinkIntake {
  readonly #parts: LinkIntakeParts;
  /** At most one of each. */
  readonly #holds = new Set<Hold>();
  /** Read and not taken yet; at most what a socket gives at once, because nothing more is read meanwhile. */
  #queue: Buffer[] = [];
  /** The last one that waits for its answer; those before need none (RFC 6455, 5.5.3). */
  #ping: Buffer | undefined;
  #isTaking = false;

  constructor(parts: LinkIntakeParts) {
    this.#parts = parts;
  }

  arrived(frame: Buffer): void {
    this.#queue.push(frame);
    this.#takeMore();
  }

  pinged(data: Buffer): void {
    this.#ping = data;
    this.#takeMore();
  }

  holdsFor(why: Hold): boolean {
    return this.#holds.has(why);
  }

  hold(why: Hold): void {
    this.#holds.add(why);
    this.#parts.socket.pause();
  }

  release(why: Hold): void {
    if (!this.#holds.delete(why)) return;
    this.#takeMore();
    if (this.#holds.size === 0) this.#parts.socket.resume();
  }

  /** Nothing more is sent to this link, so that nothing need be held: what it has sent counts. */
  takeRest(): void {
    const rest = this.#queue;
    this.#queue = [];
    for (const frame of rest) this.#parts.take(frame);
  }

  /** What was not taken is dropped; the answer to our close is read. */
  drop(): void {
    this.#queue = [];
    this.#ping = undefined;
    this.#holds.clear();
    this.#parts.socket.resume();
  }

  /** Until there is a hold. A release while one is being taken is seen before the next. */
  #takeMore(): void {
    if (this.#isTaking) return;
    this.#isTaking = true;
    try {
      this.#takeUntilHeld();
    } finally {
      this.#isTaking = false;
    }
  }

  #takeUntilHeld(): void {
    while (this.#queue.length > 0 && this.#mayTake()) {
      const frame = this.#queue.shift();
      if (frame !== undefined) this.#parts.take(frame);
    }
    if (this.#ping === undefined || this.#queue.length > 0 || !this.#mayTake()) return;
    this.#parts.socket.pong(this.#ping);
    this.#ping = undefined;
  }

  #mayTake(): boolean {
    if (this.#parts.isBehind()) this.hold('unread');
    this.#parts.before();
    return this.#holds.size === 0;
  }
}
