// The claim of a store on a mailbox (`store-claim.ts`) on NATS: the last message of a stream of its own says which store
// it is, and the time of that message when a link with it was last there, by the server's clock. Links write it
// again while they live. Each write names the message that it comes after, so that of two stores only one gets it.

import type { Clock } from '../../kernel/clock.ts';
import type { Caught } from '../../kernel/contain.ts';
import { apiCodes, errorIn, isCode, jsonIn, membersOf } from '../../nats/jet-stream-api.ts';
import type { ServerClock } from '../../nats/server-clock.ts';
import { BrokerError } from '../broker-error.ts';
import { mayClaim, otherStore, type StoreClaim, storeAwayMs } from '../store-claim.ts';
import type { BrokerWire } from './broker-wire.ts';
import type { JetStream } from './jet-stream.ts';
import { storeStream } from './stream-config.ts';
import { ownSubject } from './subjects.ts';

export interface StoreRecordParts {
  readonly wire: BrokerWire;
  readonly jetStream: JetStream;
  readonly serverClock: ServerClock<BrokerError>;
  readonly clock: Clock;
  readonly caught: Caught;
  readonly mailbox: string;
  readonly store: string;
}

interface Found extends StoreClaim {
  readonly sequence: number;
}

const expectedHeader = 'Nats-Expected-Last-Subject-Sequence';
const againMs = storeAwayMs / 4;
const tries = 8;

export class StoreRecord {
  readonly #parts: StoreRecordParts;
  readonly #subject: string;

  constructor(parts: StoreRecordParts) {
    this.#parts = parts;
    this.#subject = ownSubject(parts.mailbox, 'store');
  }

  /** From now on the mailbox is for this store, until the link ends. Rejects with a BrokerError. */
  async claim(): Promise<void> {
    const { store, serverClock, clock, caught } = this.#parts;
    for (let tried = 0; tried < tries; tried += 1) {
      const found = await this.#last();
      if (!mayClaim(found, store, serverClock.now())) throw otherStore();
      if (!(await this.#write(found?.sequence ?? 0))) continue;
      clock.after(againMs, () => this.#claimAgain().catch(caught), true);
      return;
    }
    throw new BrokerError('lost', 'other links change the store of this mailbox again and again');
  }

  /** A link that was stalled for long may have lost it. */
  async #claimAgain(): Promise<void> {
    const { wire, serverClock } = this.#parts;
    if (wire.over !== undefined) return;
    try {
      await serverClock.measure();
      await this.claim();
    } catch (error) {
      if (wire.over !== undefined) return;
      wire.finish(error instanceof BrokerError ? error : new BrokerError('lost', String(error)));
    }
  }

  async #last(): Promise<Found | undefined> {
    const { api } = this.#parts.jetStream;
    try {
      const asked = { last_by_subj: this.#subject };
      const message = membersOf(
        (await api.call(`STREAM.MSG.GET.${storeStream}`, asked))['message'],
      );
      const sequence = Number(message['seq']);
      const store = Buffer.from(String(message['data'] ?? ''), 'base64').toString('latin1');
      return { store, sequence, seenAt: await api.storedAt(storeStream, sequence) };
    } catch (error) {
      if (isCode(error, apiCodes.messageNotFound)) return undefined;
      throw api.known(error);
    }
  }

  /** False if another message has come meanwhile. */
  async #write(expected: number): Promise<boolean> {
    const { wire, store, jetStream } = this.#parts;
    const headers = wire.client.headers();
    headers.set(expectedHeader, String(expected));
    const { data } = await wire.ask(this.#subject, store, { headers });
    const error = errorIn(jsonIn(data));
    if (error === undefined) return true;
    if (isCode(error, apiCodes.wrongSequence)) return false;
    throw jetStream.api.known(error);
  }
}
