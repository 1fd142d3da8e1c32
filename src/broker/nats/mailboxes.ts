// The mailboxes that letters are delivered to. The server confirms a letter when it is kept; but if the mailbox has
// no queue for that kind of mail, nobody answers at all. So before the first letter of a kind the mailbox is asked
// whether it has one. The question also shows whether the server has connected our account to others: after a reload
// that has made the account it has not, until the next reload (docs/decisions/0026-broker.md).

import type { Msg, MsgHdrs } from '@nats-io/transport-node';
import { type Clock, within } from '../../kernel/clock.ts';
import { apiCodes, errorIn, type JetStreamApi, jsonIn } from '../../nats/jet-stream-api.ts';
import { BrokerError } from '../broker-error.ts';
import type { Letter, Sender } from '../contract.ts';
import type { BrokerWire } from './broker-wire.ts';
import { keptSubject, mayNotWrite, queuesSubject, subjectOf } from './subjects.ts';

export interface MailboxesParts {
  readonly wire: BrokerWire;
  readonly api: JetStreamApi<BrokerError>;
  readonly self: Sender;
  readonly url: string;
  readonly clock: Clock;
}

/** Beyond this all are asked again. */
const maxKnown = 4_096;
/** While a server reads its config, nobody answers for a moment; so it is asked again before that counts. */
const maxAsked = 4;
const againMs = 300;

export class Mailboxes {
  readonly #parts: MailboxesParts;
  /** Whether there is a queue, by its subject; at most `maxKnown`. */
  readonly #known = new Map<string, Promise<void>>();

  constructor(parts: MailboxesParts) {
    this.#parts = parts;
  }

  /** Rejects with a BrokerError if the server does not connect us to this mailbox. */
  async assertConnected(to: string): Promise<void> {
    await this.#queuesOf(to, keptSubject(to, '*'));
  }

  /** Resolves when it is kept. Rejects with a BrokerError. */
  async deliver(letter: Letter, headers: MsgHdrs): Promise<void> {
    await this.#assertQueue(letter);
    const subject = subjectOf('mail', { ...letter, toAll: false }, this.#parts.self);
    const { data } = await this.#parts.wire
      .ask(subject, letter.body, { headers })
      .catch((error: unknown) => {
        throw refusalOf(error, letter.to);
      });
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
    const { data } = await this.#queuesOf(to, queue);
    const { streams } = jsonIn(data);
    if (Array.isArray(streams) && streams.length > 0) return;
    throw new BrokerError('absent', `the mailbox ${to} takes no mail of this kind yet`);
  }

  /** Rejects with a BrokerError, and ends the link if it can be used for nothing that is kept. */
  async #queuesOf(to: string, queue: string): Promise<Msg> {
    const { wire, api, clock } = this.#parts;
    for (let asked = 1; ; asked += 1) {
      const answer = await wire
        .ask(queuesSubject(to), JSON.stringify({ subject: queue }))
        .catch((error: unknown) => refusalOf(error, to));
      if (!(answer instanceof BrokerError)) return answer;
      if (answer.reason !== 'absent') throw answer;
      if (asked < maxAsked) {
        await within(clock, againMs, wire.ended);
        continue;
      }
      // A server whose JetStream has failed answers nobody either.
      await api.assertEnabled();
      const why = this.#notConnected(to);
      wire.finish(why);
      throw why;
    }
  }

  #notConnected(to: string): BrokerError {
    const { self, url } = this.#parts;
    const words = `${url} has not connected ${self.mailbox} to ${to}: a NATS server has to be reloaded twice after a change of its config (nats-server --signal reload=PID, and again a second later), with the config that holdfast broker nats-config prints`;
    return new BrokerError('unsupported', words);
  }
}

/** Throws what is no BrokerError. */
function refusalOf(error: unknown, to: string): BrokerError {
  if (!(error instanceof BrokerError)) throw error;
  return error.reason === 'not_allowed' ? mayNotWrite(to) : error;
}
