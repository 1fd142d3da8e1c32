// Kept mail of one kind for one place: this seat, or any seat of the mailbox. The letters are in a stream of the
// server; a consumer hands them out to whoever asks. Only one consumer can have the letters of a place, so the
// consumer is the lease: that of a seat has a name of its own for each link, and a newer link deletes the older
// one's, whose acknowledgements then reach nobody. The one for any seat is shared by the links of the mailbox; what
// a link holds of it is confirmed again and again, and goes to another when that stops.

import { randomBytes } from 'node:crypto';
import type { Msg } from '@nats-io/transport-node';
import type { Clock } from '../../kernel/clock.ts';
import type { Caught } from '../../kernel/contain.ts';
import { BrokerError } from '../broker-error.ts';
import type { BrokerWire } from './broker-wire.ts';
import { HeldLetters } from './held-letters.ts';
import type { JetStream } from './jet-stream.ts';
import { requestBytes, requestLetters, windowBytes, windowLetters } from './limits.ts';
import { anySeat, incoming, mailStream } from './subjects.ts';

export interface KeptQueueParts {
  readonly wire: BrokerWire;
  readonly jetStream: JetStream;
  readonly clock: Clock;
  readonly caught: Caught;
  readonly mailbox: string;
  readonly kind: string;
  /** A seat, or `anySeat`. */
  readonly place: string;
  /** Gets each letter; `ack` is what to acknowledge it by. */
  readonly hand: (message: Msg, ack: string) => void;
}

const perMs = 1_000_000;
/** One request for letters ends after this time, if none came. */
const pullMs = 30_000;
/** A link that is gone holds up letters for any seat this long. */
const holdMs = 6_000;
const holdAgainMs = 2_000;
/** Letters of a seat wait for nobody else. */
const seatHoldMs = 24 * 60 * 60 * 1_000;
/** A consumer that nobody asks is removed by the server; links ask more often. */
const unusedMs = 5 * 60 * 1_000;
const tries = 8;
const againMs = 100;

export class KeptQueue {
  readonly #parts: KeptQueueParts;
  readonly #stream: string;
  readonly #held = new HeldLetters();
  #consumer = '';
  #inbox: string;
  #requests = 0;
  /** How many letters the present request may still bring; 0: there is none. */
  #asked = 0;
  #timer: Disposable | undefined;
  #holding: Disposable | undefined;
  #listening: Disposable | undefined;

  constructor(parts: KeptQueueParts) {
    this.#parts = parts;
    this.#stream = mailStream(parts.kind);
    this.#inbox = parts.wire.newInbox();
  }

  /** Rejects with a BrokerError. */
  async open(): Promise<void> {
    const { wire, place } = this.#parts;
    this.#consumer = await this.#join();
    this.#listening = wire.subscribe(`${this.#inbox}.*`, (message) => this.#received(message));
    if (place === anySeat) this.#holdAgain();
    this.#ask();
  }

  /**
   * It is done with, unless the link has ended, or a newer one has this place: then nobody hears it. Nothing happens if
   * it was handed out again since.
   */
  ack(ack: string): void {
    if (!this.#held.release(ack)) return;
    this.#parts.wire.publish(ack, '+ACK');
    this.#ask();
  }

  /** The last of it: what is held goes to others. Returns the consumer that was for us alone. */
  giveBack(publish: (subject: string, body: string) => void): string | undefined {
    this.#timer?.[Symbol.dispose]();
    this.#holding?.[Symbol.dispose]();
    // Our last request is still open, and would get what we give back. A server of 2.9 forgets it when it is asked
    // about its consumer; if it finds it while it hands out a letter, that letter is lost for a while.
    this.#listening?.[Symbol.dispose]();
    publish(`$JS.API.CONSUMER.INFO.${this.#stream}.${this.#consumer}`, '');
    for (const ack of this.#held.acks) publish(ack, '-NAK');
    this.#held.clear();
    return this.#parts.place === anySeat ? undefined : `${this.#stream}.${this.#consumer}`;
  }

  /** The name of the consumer of this place. */
  async #join(): Promise<string> {
    const { jetStream, mailbox, kind, place } = this.#parts;
    const isShared = place === anySeat;
    for (let tried = 0; tried < tries; tried += 1) {
      const names = await jetStream.consumerNames(this.#stream);
      const there = names.filter((name) => placeOf(name) === place);
      // Asked about it, the server forgets requests of links that are gone.
      const shared = isShared ? there[0] : undefined;
      if (shared !== undefined && (await jetStream.hasConsumer(this.#stream, shared)))
        return shared;
      for (const name of there) await jetStream.deleteConsumer(this.#stream, name);
      const name = `${randomBytes(16).toString('hex')}-${place}`;
      const isMade = await jetStream.createConsumer(this.#stream, {
        name,
        filter_subject: incoming('mail', mailbox, kind, place),
        ack_wait: (isShared ? holdMs : seatHoldMs) * perMs,
        inactive_threshold: unusedMs * perMs,
      });
      if (isMade) return name;
    }
    throw new BrokerError('lost', `other links take the seat ${place} again and again`);
  }

  #received(message: Msg): void {
    const code = message.headers?.code ?? 0;
    if (message.subject.startsWith(this.#inbox)) return this.#status(message.subject, code);
    this.#asked = Math.max(0, this.#asked - 1);
    const { reply, data } = message;
    if (reply === undefined) return;
    if (this.#held.add(reply, data.length)) this.#parts.hand(message, reply);
    else this.#parts.wire.publish(reply, '+ACK');
    this.#ask();
  }

  /** The present request brings no more. */
  #status(subject: string, code: number): void {
    if (subject !== this.#reply || code === 100) return;
    this.#asked = 0;
    if (code === 404 || code === 408) return this.#ask();
    this.#timer?.[Symbol.dispose]();
    const { clock, caught } = this.#parts;
    this.#timer = clock.after(againMs, () => this.#again().catch(caught), true);
  }

  /** After a refusal: the consumer may be gone, because a link that thought to be alone has removed it. */
  async #again(): Promise<void> {
    const { jetStream, wire } = this.#parts;
    try {
      if (!(await jetStream.hasConsumer(this.#stream, this.#consumer))) {
        this.#consumer = await this.#join();
      }
      this.#ask();
    } catch (error) {
      if (wire.over !== undefined) return;
      wire.finish(error instanceof BrokerError ? error : new BrokerError('lost', String(error)));
    }
  }

  get #reply(): string {
    return `${this.#inbox}.${this.#requests}`;
  }

  /** For as many letters as there is room for, if that is worth a request. */
  #ask(): void {
    const room = Math.min(requestLetters, windowLetters - this.#held.size);
    const isWorth = room >= requestLetters / 2 && this.#held.bytes < windowBytes;
    const { wire, clock } = this.#parts;
    if (this.#asked > 0 || !isWorth || wire.over !== undefined) return;
    this.#asked = room;
    this.#requests += 1;
    wire.publish(
      `$JS.API.CONSUMER.MSG.NEXT.${this.#stream}.${this.#consumer}`,
      JSON.stringify({ batch: room, expires: pullMs * perMs, max_bytes: requestBytes }),
      { reply: this.#reply },
    );
    // A request that the server has forgotten is made again.
    this.#timer?.[Symbol.dispose]();
    const forgotten = () => {
      this.#asked = 0;
      this.#ask();
    };
    this.#timer = clock.after(pullMs + 5_000, forgotten, true);
  }

  #holdAgain(): void {
    const { clock, wire } = this.#parts;
    const hold = () => {
      for (const ack of this.#held.acks) wire.publish(ack, '+WPI');
      if (wire.over === undefined) this.#holdAgain();
    };
    this.#holding = clock.after(holdAgainMs, hold, true);
  }
}

/** The place that a consumer of this name is for. */
function placeOf(name: string): string {
  return name.slice(33);
}

/** Removes the consumers that links have left which are gone: their letters go to the next reader at once. */
export async function sweep(jetStream: JetStream): Promise<void> {
  const streams = await jetStream.streamNames();
  for (const stream of streams.filter((name) => name.startsWith(mailStream('')))) {
    for (const name of await jetStream.consumerNames(stream)) {
      await jetStream.deleteConsumer(stream, name);
    }
  }
}
