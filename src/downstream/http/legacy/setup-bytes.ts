// What clients have said to set their legacy sessions up, in bytes: by owner, and of all together. The number of sessions
// alone bounds no memory, because each of them can bring what it likes with its `initialize` and watch what it likes.
// What a client asks for counts from the moment at which it is taken, so that many requests at once get no more than
// one after the other.

import { OwnerCounts, shareOf } from '../../../kernel/owner-counts.ts';
import { isLocalUser, ownerOf, type Principal } from '../../../policy/principal.ts';
import type { Message } from '../../../wire/scan.ts';
import { ClientSetup } from '../../clients/client-setup.ts';

/** A session of either legacy transport. */
export interface SetUpSession {
  readonly principal: Principal;
  /** What its client has said. */
  readonly setup: ClientSetup;
  /** Bytes of requests that would be part of it and are not answered yet. */
  askedBytes: number;
  /** All that is counted for it. */
  setupBytes: number;
  readonly isClosed: boolean;
}

export class SetupBytes {
  readonly #maxBytes: number;
  readonly #byOwner = new OwnerCounts();
  #all = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Whether an owner would have more than its share. */
  isBeyondShare(principal: Principal, more: number): boolean {
    if (isLocalUser(principal)) return false;
    const owner = ownerOf(principal).id;
    return this.#byOwner.of(owner) + more > shareOf(this.#maxBytes);
  }

  /** Whether all together would be too much. */
  isFull(more: number): boolean {
    return this.#all + more > this.#maxBytes;
  }

  /** Who has the most; undefined if nobody has any. */
  largest(): string | undefined {
    return this.#byOwner.largest();
  }

  /** Why what a request says cannot be kept for its session, in words for its client; undefined: it can. */
  refusal({ setup, principal, askedBytes }: SetUpSession, message: Message): string | undefined {
    const refusal = setup.refusal(message, askedBytes);
    const bytes = bytesIn(message);
    if (refusal !== undefined || bytes === 0) return refusal;
    return this.isBeyondShare(principal, bytes) || this.isFull(bytes) ? tooMuchSetup : undefined;
  }

  /** A request that was not refused: what it says counts until it is answered, which disposing says. */
  taken(session: SetUpSession, message: Message): Disposable {
    const bytes = bytesIn(message);
    const count = (more: number) => {
      if (session.isClosed) return;
      session.askedBytes += more;
      this.weigh(session, session.setupBytes + more);
    };
    count(bytes);
    let isOpen = true;
    return {
      [Symbol.dispose]: () => {
        if (isOpen) count(-bytes);
        isOpen = false;
      },
    };
  }

  /** It was answered well: from now on it is part of what the client has said. */
  noted(session: SetUpSession, message?: Message): void {
    if (message) session.setup.note(message);
    if (!session.isClosed) this.weigh(session, session.setup.bytes + session.askedBytes);
  }

  /** So many bytes are counted for it; none when it has ended. */
  weigh(session: SetUpSession, bytes: number): void {
    const owner = ownerOf(session.principal).id;
    const more = bytes - session.setupBytes;
    this.#all += more;
    if (more > 0) this.#byOwner.add(owner, more);
    else if (more < 0) this.#byOwner.remove(owner, -more);
    session.setupBytes = bytes;
  }
}

/** What a request would add to what is kept. */
function bytesIn({ method, params }: Message): number {
  const isMore = ClientSetup.concerns(method) && method !== 'resources/unsubscribe';
  return isMore && params !== undefined ? params.end - params.start : 0;
}

const tooMuchSetup =
  'the sessions of this principal, or all together, have said as much as is kept for them; end others first';
