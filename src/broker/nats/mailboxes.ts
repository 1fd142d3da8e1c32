// The mailboxes that letters are delivered to. The server confirms a letter when it is kept; but if the mailbox has
// no queue for that kind of mail, nobody answers at all. So before the first letter of a kind the mailbox is asked
// whether it has one.

import type { MsgHdrs } from '@nats-io/transport-node';
import { apiCodes, errorIn, jsonIn } from '../../nats/jet-stream-api.ts';
import { BrokerError } from '../broker-error.ts';
import type { Letter, Sender } from '../contract.ts';
import type { BrokerWire } from './broker-wire.ts';
import { keptSubject, queuesSubject, subjectOf } from './subjects.ts';

/** Beyond this all are asked again. */
const maxKnown = 4_096;

export class Mailboxes {
  readonly #wire: BrokerWire;
  readonly #self: Sender;
  /** Whether there is a queue, by its subject; at most `maxKnown`. */
  readonly #known = new Map<string, Promise<void>>();

  constructor(wire: BrokerWire, self: Sender) {
    this.#wire = wire;
    this.#self = self;
  }

  /** Resolves when it is kept. Rejects with a BrokerError. */
  async deliver(letter: Letter, headers: MsgHdrs): Promise<void> {
    await this.#assertQueue(letter);
    const subject = subjectOf('mail', { ...letter, toAll: false }, this.#self);
    const { data } = await this.#wire.ask(subject, letter.body, { headers });
    const answer = jsonIn(data);
    const error = errorIn(answer);
    if (error === undefined && typeof answer['seq'] === 'number') return;
    const words = `the mailbox ${letter.to} has not kept it: ${error?.message ?? 'no confirmation'}`;
    if (error?.code === apiCodes.messageTooLarge) throw new BrokerError('too_large', words);
    throw new BrokerError(error?.isFull === true ? 'full' : 'not_kept', words);
  }

  /** All wait for the same answer, so that letters stay in their order. */
  #assertQueue({ to, kind }: Letter): Promise<void> {
    const queue = keptSubject(to, kind);
    const known = this.#known.get(queue);
    if (known !== undefined) return known;
    if (this.#known.size >= maxKnown) this.#known.clear();
    const asked = this.#ask(to, queue).catch((error: unknown) => {
      this.#known.delete(queue);
      throw error;
    });
    this.#known.set(queue, asked);
    return asked;
  }

  async #ask(to: string, queue: string): Promise<void> {
    const { data } = await this.#wire.ask(queuesSubject(to), JSON.stringify({ subject: queue }));
    const { streams } = jsonIn(data);
    if (Array.isArray(streams) && streams.length > 0) return;
    throw new BrokerError('absent', `the mailbox ${to} takes no mail of this kind yet`);
  }
}
