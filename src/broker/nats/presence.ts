// Who has a link now. A worker knows the mailboxes that it may write to; an orchestrator learns its workers from
// what they say when they open a link, or when it asks at its own opening. Whether one of them has a link now is
// asked of the server alone: it says at once if nobody listens there.

import type { Sender } from '../contract.ts';
import type { Identity } from '../identity.ts';
import type { BrokerWire } from './broker-wire.ts';
import { hereIncoming, hereSubject, senderIn, whoSubject } from './subjects.ts';
import type { ToldLetters } from './told-letters.ts';

/** Beyond this the oldest is forgotten. */
const maxPeers = 16_384;
const nothing = new Uint8Array();

export class Presence {
  readonly #wire: BrokerWire;
  readonly #told: ToldLetters;
  readonly #self: Sender;
  readonly #identity: Pick<Identity, 'kind' | 'to'>;
  /** Mailboxes that may have a link; at most `maxPeers`. */
  readonly #peers: Set<string>;

  constructor(
    wire: BrokerWire,
    told: ToldLetters,
    self: Sender,
    identity: Pick<Identity, 'kind' | 'to'>,
  ) {
    this.#wire = wire;
    this.#told = told;
    this.#self = self;
    this.#identity = identity;
    this.#peers = new Set(identity.to);
  }

  /** Answers who asks, and asks if we are an orchestrator. */
  open(): void {
    const { mailbox } = this.#self;
    const { kind, to } = this.#identity;
    this.#wire.subscribe(hereIncoming(mailbox), ({ subject }) => this.#heard(subject));
    for (const other of to) {
      this.#wire.subscribe(whoSubject(other), () =>
        this.#wire.publish(hereSubject(other, this.#self)),
      );
    }
    if (kind === 'orchestrator') this.#wire.publish(whoSubject(mailbox));
  }

  /** Says to all that we have a link, and finds out which of them have one. Rejects with a BrokerError. */
  async present(): Promise<readonly string[]> {
    // What they have said before now is heard before this is answered.
    await this.#wire.flush();
    const here = new Set(this.#peers);
    for (const mailbox of this.#peers) {
      const subject = hereSubject(mailbox, this.#self);
      this.#told.tell(subject, nothing, undefined, () => here.delete(mailbox));
    }
    await this.#told.settled();
    return [...here];
  }

  #heard(subject: string): void {
    const sender = senderIn(subject);
    if (sender === undefined || this.#identity.kind === 'worker') return;
    this.#peers.delete(sender.mailbox);
    this.#peers.add(sender.mailbox);
    const [oldest] = this.#peers;
    if (this.#peers.size > maxPeers && oldest !== undefined) this.#peers.delete(oldest);
  }
}
