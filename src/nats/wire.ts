// A connection to a NATS server as it is used here: requests that reject with a typed error, subscriptions whose
// errors are contained, and one end, at which everything that waits is rejected with the reason.

import type { Msg, MsgHdrs, NatsConnection, PublishOptions } from '@nats-io/transport-node';
import { type Caught, contain, ignored } from '../kernel/contain.ts';
import { endOfLink, type NatsClient, refusedRequest } from './nats-client.ts';
import type { Refuse, Refused } from './nats-error.ts';

export interface AskOptions {
  readonly headers?: MsgHdrs;
}

export interface WireParts<E extends Refused> {
  readonly client: NatsClient;
  readonly connection: NatsConnection;
  readonly url: string;
  readonly inboxPrefix: string;
  readonly caught: Caught;
  readonly refuse: Refuse<E>;
  /** How long an answer may take; 10 seconds if absent. */
  readonly answerMs?: number;
}

const usualAnswerMs = 10_000;
const nothing = new Uint8Array();

export class Wire<E extends Refused> {
  readonly client: NatsClient;
  readonly #connection: NatsConnection;
  readonly #inboxPrefix: string;
  readonly #caught: Caught;
  readonly refuse: Refuse<E>;
  readonly #answerMs: number;
  readonly ended: Promise<E>;
  #end: (why: E) => void = () => {};
  #over: E | undefined;
  /** Who hears of the end: what waits for an answer, `answerMs` at most, and listeners until they dispose of it. */
  readonly #waiting = new Set<(why: E) => void>();
  /** Who hears that a subject may not be used; bound: the parts of one link. */
  readonly #violated: ((subject: string) => void)[] = [];

  constructor(parts: WireParts<E>) {
    const { client, connection, url, inboxPrefix, caught, refuse } = parts;
    this.client = client;
    this.#connection = connection;
    this.#inboxPrefix = inboxPrefix;
    this.#caught = caught;
    this.refuse = refuse;
    this.#answerMs = parts.answerMs ?? usualAnswerMs;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#watch().catch(caught);
    connection
      .closed()
      .then((error) => this.finish(endOfLink(client, refuse, url, error)))
      .catch(caught);
  }

  /** Why it has ended; undefined while it has not. */
  get over(): E | undefined {
    return this.#over;
  }

  get info() {
    return this.#connection.info;
  }

  /** How many would hear of its end now. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Called once, with the reason: at the end, or at once if that has come. Nothing is held once it is disposed of. */
  onEnd(heard: (why: E) => void): Disposable {
    const told = (why: E) => contain(() => heard(why), this.#caught);
    if (this.#over === undefined) this.#waiting.add(told);
    else told(this.#over);
    return { [Symbol.dispose]: () => void this.#waiting.delete(told) };
  }

  onViolation(heard: (subject: string) => void): void {
    this.#violated.push(heard);
  }

  /** Rejects with what `refuse` makes. */
  ask(
    subject: string,
    body: Uint8Array | string = nothing,
    { headers }: AskOptions = {},
  ): Promise<Msg> {
    const options = headers === undefined ? {} : { headers };
    return this.#untilEnd(() =>
      this.#connection.request(subject, body, { timeout: this.#answerMs, ...options }),
    );
  }

  publish(
    subject: string,
    body: Uint8Array | string = nothing,
    options: PublishOptions = {},
  ): void {
    // Between its close and its end nothing can be sent.
    if (this.#over !== undefined || this.#connection.isClosed()) return;
    this.#connection.publish(subject, body, options);
  }

  /** Until the wire ends. */
  subscribe(subject: string, heard: (message: Msg) => void, queue?: string): Disposable {
    if (this.#over !== undefined || this.#connection.isClosed())
      return { [Symbol.dispose]: () => {} };
    const subscription = this.#connection.subscribe(subject, {
      ...(queue === undefined ? {} : { queue }),
      // An error that is thrown to the client would stop it from reading.
      callback: (error, message) => {
        if (error === null && this.#over === undefined) {
          contain(() => heard(message), this.#caught);
        }
      },
    });
    return {
      [Symbol.dispose]: () => {
        // What is sent after the end of a connection is thrown by its socket, where nobody can catch it.
        const isOver = this.#over !== undefined || this.#connection.isClosed();
        if (!isOver) subscription.unsubscribe();
      },
    };
  }

  /** A subject of our own for answers. */
  newInbox(): string {
    return this.client.createInbox(this.#inboxPrefix);
  }

  /** When the server has seen everything that was sent before. Rejects with what `refuse` makes. */
  flush(): Promise<void> {
    return this.#untilEnd(() => this.#connection.flush());
  }

  finish(why: E): void {
    if (this.#over !== undefined) return;
    this.#over = why;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const told of waiting) told(why);
    this.#end(why);
  }

  /** After it is finished: the last words are still sent. */
  async close(lastWords: (connection: NatsConnection) => Promise<void>): Promise<void> {
    try {
      if (!this.#connection.isClosed()) await lastWords(this.#connection);
      // The client sends what it was given a moment later; after the close its socket would throw.
      await new Promise((resolve) => setImmediate(resolve));
    } catch {
      // It was lost in the meantime.
    }
    await this.#connection.close().catch(ignored);
  }

  /** The client lets some of what waits hang when its connection closes. */
  #untilEnd<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#over !== undefined) return reject(this.#over);
      this.#waiting.add(reject);
      const failed = (error: unknown) =>
        reject(this.#over ?? refusedRequest(this.client, this.refuse, error));
      work()
        .then(resolve, failed)
        .finally(() => this.#waiting.delete(reject))
        .catch(this.#caught);
    });
  }

  async #watch(): Promise<void> {
    const { PermissionViolationError } = this.client.errors;
    for await (const status of this.#connection.status()) {
      if (status.type !== 'error' || !(status.error instanceof PermissionViolationError)) continue;
      const { subject } = status.error;
      for (const heard of this.#violated) heard(subject);
    }
  }
}
