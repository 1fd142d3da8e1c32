// The JSON-RPC exchange with one server over any transport: our own ids, matched by type and value;
// progress by token; messages that belong to no call are counted and dropped, never logged with
// their content. Transports pass it messages and get exchanges from it.

import { type Clock, within } from '../kernel/clock.ts';
import { ignored } from '../kernel/contain.ts';
import { Fault } from '../kernel/fault.ts';
import { RingMap } from '../kernel/ring-map.ts';
import type { Noise } from '../observe/events.ts';
import { numberOf } from '../wire/decode.ts';
import type { Message } from '../wire/scan.ts';
import type { RequestOptions } from './connection.ts';
import { Exchange } from './exchange.ts';

export interface ConversationListener {
  notification(message: Message, about: Exchange | undefined): void;
  /** A request of the server to the client. */
  request(message: Message, about: Exchange | undefined): void;
  noise(noise: Noise): void;
  /** The caller cancelled an exchange that is still open. */
  abandoned(exchange: Exchange): void;
}

/** Calls still running when a server is replaced or removed get this long to finish. */
export const drainMs = 5_000;
/** How many ended ids are kept to distinguish a late answer from an invented one. */
const rememberedIds = 1024;

export class Conversation {
  readonly #listener: ConversationListener;
  readonly #clock: Clock;
  /** By id, until answered or cancelled; as many as the server has slots, plus our own. */
  readonly #open = new RingMap<number, Exchange>(1024);
  /** At most `rememberedIds`. */
  readonly #givenUp = new Set<number>();
  readonly #abandon: (exchange: Exchange) => void;
  #background = 0;
  #firstId = 1;
  #nextId = 1;

  constructor(listener: ConversationListener, clock: Clock) {
    this.#listener = listener;
    this.#clock = clock;
    this.#abandon = (exchange) => {
      this.#forget(exchange.id);
      this.#listener.abandoned(exchange);
    };
  }

  begin(options: RequestOptions | undefined): Exchange {
    const exchange = new Exchange(this.#nextId++, options, this.#abandon);
    this.#open.set(exchange.id, exchange);
    if (exchange.isBackground) this.#background += 1;
    if (options?.deadlineMs !== undefined) this.#limit(exchange, options.deadlineMs);
    return exchange;
  }

  #limit(exchange: Exchange, ms: number): void {
    const expire = () => exchange.cancel(new Fault('timeout', `no answer within ${ms} ms`));
    const deadline = this.#clock.after(ms, expire, true);
    const settled = () => deadline[Symbol.dispose]();
    exchange.answer.then(settled, settled).catch(ignored);
  }

  get nextId(): number {
    return this.#nextId;
  }

  /** The ids before this one belong to somebody else. */
  continueFrom(id: number): void {
    this.#firstId = id;
    this.#nextId = id;
  }

  /** How many calls are running. Subscriptions do not count. */
  get calls(): number {
    return this.#open.size - this.#background;
  }

  /** Whether a call of a client is running, not only requests of our own. */
  get hasClients(): boolean {
    return this.#open.values().some((exchange) => exchange.owner !== undefined);
  }

  /** Ends the subscriptions. */
  endBackground(fault: Fault): void {
    for (const exchange of this.#open.values()) if (exchange.isBackground) exchange.cancel(fault);
  }

  /** Whether more than one call is running. Subscriptions do not count. */
  get isBusy(): boolean {
    return this.#open.size - this.#background > 1;
  }

  /** Whether a call is running. Subscriptions do not count. */
  get hasCalls(): boolean {
    return this.#open.size > this.#background;
  }

  /** Whether this id is waiting for its answer. */
  isOpen(id: number): boolean {
    return this.#open.has(id);
  }

  /** Resolves when no call is open any more; subscriptions do not count. */
  async whenEmpty(): Promise<void> {
    const calls = this.#open.values().filter((exchange) => !exchange.isBackground);
    await Promise.allSettled(calls.map((exchange) => exchange.answer));
  }

  /** Lets running calls finish, for a while. */
  async drained(): Promise<void> {
    await within(this.#clock, drainMs, this.whenEmpty());
  }

  /** `about` is the exchange on whose own stream it came. */
  receive(message: Message, about?: Exchange): void {
    switch (message.kind) {
      case 'result':
      case 'error':
        return this.#answer(message);
      case 'notification':
        return this.#notification(message, about);
      case 'request':
        return this.#listener.request(message, about);
    }
  }

  /** Ends one exchange whose answer can no longer come, or cannot be used. */
  fail(id: number, fault: Fault): boolean {
    const exchange = this.#open.get(id);
    if (!exchange) return false;
    this.#forget(id);
    exchange.fail(fault);
    return true;
  }

  /** Ends all: the transport is closed. */
  failAll(fault: Fault): void {
    const exchanges = this.#open.values();
    this.#open.clear();
    this.#background = 0;
    for (const exchange of exchanges) exchange.fail(fault);
  }

  /** An answer to this id was seen in a frame that could not be read. */
  damaged(id: number, fault: Fault): boolean {
    const exchange = this.#open.get(id);
    if (!exchange || exchange.dispatched === 'no') return false;
    exchange.dispatched = 'yes';
    return this.fail(id, fault);
  }

  #answer(message: Message): void {
    const { id } = message;
    const exchange = typeof id === 'number' ? this.#open.get(id) : undefined;
    // A frame that was not written cannot have been answered: the id was guessed.
    if (exchange && exchange.dispatched !== 'no') {
      this.#remove(exchange);
      exchange.answered(message);
      return;
    }
    this.#listener.noise(this.#strangerKind(id));
  }

  #strangerKind(id: Message['id']): Noise {
    if (typeof id !== 'number' || id < 1 || id >= this.#nextId) return 'unknown-id';
    if (this.#open.has(id)) return 'unknown-id';
    if (id < this.#firstId) return 'late-answer';
    return this.#givenUp.has(id) ? 'late-answer' : 'duplicate-answer';
  }

  #notification(message: Message, about: Exchange | undefined): void {
    if (message.method === 'notifications/progress' && this.#progress(message)) return;
    this.#listener.notification(message, about);
  }

  #progress(message: Message): boolean {
    const span = message.paramsObject?.get('progressToken');
    const token = span ? numberOf(message.bytes, span) : undefined;
    const exchange = token === undefined ? undefined : this.#open.get(token);
    if (!exchange?.progress || exchange.dispatched === 'no' || !message.params) return false;
    exchange.dispatched = 'yes';
    try {
      exchange.progress.progressed(
        message.bytes.subarray(message.params.start, message.params.end),
      );
    } catch {
      // A defect of a listener must not end the connection of all clients.
    }
    return true;
  }

  #remove(exchange: Exchange): void {
    if (this.#open.delete(exchange.id) && exchange.isBackground) this.#background -= 1;
  }

  #forget(id: number): void {
    const exchange = this.#open.get(id);
    if (exchange) this.#remove(exchange);
    this.#givenUp.add(id);
    if (this.#givenUp.size > rememberedIds) {
      for (const oldest of this.#givenUp) {
        this.#givenUp.delete(oldest);
        break;
      }
    }
  }
}
