// A member of the hub: one link with a verified identity in its seat, from its hello to its end. After its end it
// asks for nothing more.

import { BrokerError } from '../broker-error.ts';
import type { Letter, Sender } from '../contract.ts';
import { type Identity, senderOf } from '../identity.ts';
import type { Held } from './held.ts';
import type { Hub } from './hub.ts';
import { weightOf } from './limits.ts';
import { ToldShares } from './told-shares.ts';

/** A letter as a member gets it. */
export interface Handed {
  /** What to acknowledge it by; 0: it was told, and is not kept. */
  readonly number: number;
  readonly id: string;
  readonly from: Sender;
  readonly kind: string;
  readonly about: string | undefined;
  readonly ttlMs: number | undefined;
  readonly body: Buffer;
}

/** The link of a member. None of these may throw. */
export interface Peer {
  hand(letter: Handed): void;
  /** Bytes that wait to be sent to it. */
  readonly backlogBytes: number;
  /** Says when the other side has read everything that it was handed before; one at a time. */
  mark(passed: () => void): void;
  /** It is a member no longer. */
  end(why: BrokerError): void;
}

/** One link, from its hello to its end. What it asks for throws a BrokerError, or rejects with one. */
export class Member {
  readonly #hub: Hub;
  readonly identity: Identity;
  readonly seat: string;
  readonly peer: Peer;
  /** Where it remembers calls. */
  readonly store: string | undefined;
  /** As it is stamped on its letters. */
  readonly sender: Sender;
  /** What workers have told it and it has not read yet. */
  readonly #told: ToldShares;
  #isOver = false;

  constructor(hub: Hub, identity: Identity, seat: string, peer: Peer, store?: string) {
    this.#hub = hub;
    this.identity = identity;
    this.seat = seat;
    this.peer = peer;
    this.store = store;
    const { maxToldLetters: letters, maxToldBytes: bytes } = hub.limits;
    this.#told = new ToldShares({ letters, bytes });
    this.sender = senderOf(identity, seat);
  }

  async deliver(letter: Letter): Promise<void> {
    this.#assertMember();
    await this.#hub.deliver(this, letter);
  }

  tell(letter: Letter): void {
    this.#assertMember();
    this.#hub.tell(this, letter);
  }

  receive(kind: string): void {
    this.#assertMember();
    this.#hub.receive(this, kind);
  }

  acknowledge(number: number): void {
    if (!this.#isOver) this.#hub.acknowledge(this, number);
  }

  setAside(number: number, why: string): void {
    if (!this.#isOver) this.#hub.setAside(this, number, why);
  }

  present(): readonly string[] {
    this.#assertMember();
    return this.#hub.present(this);
  }

  handKept(held: Held, ttlMs: number | undefined): void {
    this.peer.hand({
      number: held.number,
      id: held.id,
      from: held.from,
      kind: held.kind,
      about: held.about,
      ttlMs,
      body: held.body,
    });
  }

  /** Whether it can be told this now: of one worker a share at most waits for it. */
  hasRoomFor({ identity }: Member, body: Buffer): boolean {
    if (this.peer.backlogBytes > this.#hub.limits.maxBacklogBytes) return false;
    return identity.kind !== 'worker' || this.#told.hasRoom(identity.mailbox, weightOf({ body }));
  }

  handTold({ identity }: Member, letter: Handed): void {
    this.peer.hand(letter);
    if (identity.kind !== 'worker') return;
    if (this.#told.add(identity.mailbox, weightOf(letter))) this.#mark();
  }

  #mark(): void {
    this.peer.mark(() => {
      if (this.#told.passed()) this.#mark();
    });
  }

  /** Its link has ended. */
  left(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#hub.left(this);
  }

  /** The hub ends its membership. */
  end(why: BrokerError): void {
    if (this.#isOver) return;
    this.left();
    this.peer.end(why);
  }

  #assertMember(): void {
    if (this.#isOver) throw new BrokerError('closed', 'this link has ended');
  }
}
