// Letters that are told: published once, and not kept. The server says at once if nobody listens, or if this
// credential may not write there, both before it answers the next ping. So each is remembered until a ping that was
// sent after it is answered, and not much longer: one ping serves all that were told in a while.

import type { Msg, MsgHdrs } from '@nats-io/transport-node';
import type { Clock } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';
import { BrokerError } from '../broker-error.ts';
import type { BrokerWire } from './broker-wire.ts';
import { mayNotWrite, recipientIn } from './subjects.ts';

interface Told {
  readonly subject: string;
  readonly bytes: number;
  readonly refused: (why: BrokerError) => void;
}

const noResponders = 503;
/** From the first that is told to the ping. */
const confirmAfterMs = 20;
/** Beyond this the oldest is forgotten. */
const maxTold = 16_384;

export class ToldLetters {
  readonly #wire: BrokerWire;
  readonly #inbox: string;
  /** By number, until the server has answered a later ping; at most `maxTold`. */
  readonly #told = new Map<number, Told>();
  #next = 1;
  #bytes = 0;
  readonly #clock: Clock;
  /** There is one while anything is remembered. */
  #confirming: Disposable | undefined;

  constructor(wire: BrokerWire, clock: Clock) {
    this.#wire = wire;
    this.#clock = clock;
    this.#inbox = wire.newInbox();
    wire.subscribe(`${this.#inbox}.*`, (message) => this.#answered(message));
    wire.onViolation((subject) => this.#violated(subject));
  }

  /** Returns its number. */
  tell(
    subject: string,
    body: Uint8Array,
    headers: MsgHdrs | undefined,
    refused: Told['refused'],
  ): number {
    const number = this.#next;
    this.#next += 1;
    this.#told.set(number, { subject, bytes: body.length, refused });
    this.#bytes += body.length;
    this.#take(number - maxTold);
    const reply = `${this.#inbox}.${number}`;
    this.#wire.publish(subject, body, headers === undefined ? { reply } : { reply, headers });
    this.#confirming ??= this.#confirmLater();
    return number;
  }

  /** False once the server has refused it or a later ping was answered, and where too many were told after it. */
  remembers(number: number): boolean {
    return this.#told.has(number);
  }

  /** Of those that are remembered: what the server may not have yet. */
  get bytes(): number {
    return this.#bytes;
  }

  /** When the server has said what it has to say about everything told so far. Rejects with a BrokerError. */
  async settled(): Promise<void> {
    await this.#wire.flush();
    // What the client has heard before the answer is handed out in this turn.
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Nobody knows what became of the rest. */
  end(why: BrokerError): void {
    this.#confirming?.[Symbol.dispose]();
    const rest = [...this.#told.values()];
    this.#told.clear();
    this.#bytes = 0;
    for (const { refused } of rest) refused(why);
  }

  /** It is remembered no longer. */
  #take(number: number): Told | undefined {
    const told = this.#told.get(number);
    this.#told.delete(number);
    this.#bytes -= told?.bytes ?? 0;
    return told;
  }

  #confirmLater(): Disposable {
    return this.#clock.after(confirmAfterMs, () => this.#confirm().catch(ignored), true);
  }

  /** What the server has seen without a word was passed on. Rejects when the link has ended. */
  async #confirm(): Promise<void> {
    const before = this.#next;
    await this.settled();
    for (const number of this.#told.keys()) {
      if (number >= before) break;
      this.#take(number);
    }
    this.#confirming = this.#told.size > 0 ? this.#confirmLater() : undefined;
  }

  /** Anything else than a word of the server is ignored: a reader does not answer here. */
  #answered({ subject, headers, data }: Msg): void {
    if (headers?.code !== noResponders || data.length > 0) return;
    const number = Number(subject.slice(this.#inbox.length + 1));
    const told = this.#take(number);
    told?.refused(new BrokerError('absent', `${recipientIn(told.subject)} does not listen now`));
  }

  #violated(subject: string): void {
    for (const [number, told] of this.#told) {
      if (told.subject !== subject) continue;
      this.#take(number);
      return told.refused(mayNotWrite(recipientIn(subject)));
    }
  }
}
