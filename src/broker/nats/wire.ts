// A connection to a NATS server as a link uses it: requests that reject with a BrokerError, subscriptions whose
// errors are contained, and one end, at which everything that waits is rejected with the reason.

import type { Msg, MsgHdrs, NatsConnection, PublishOptions } from '@nats-io/transport-node';
import { type Caught, contain, ignored } from '../../kernel/contain.ts';
import type { BrokerError } from '../broker-error.ts';
import { endOfLink, type NatsClient, refusedRequest } from './nats-client.ts';

export interface AskOptions {
  readonly headers?: MsgHdrs;
}

export interface WireParts {
  readonly client: NatsClient;
  readonly connection: NatsConnection;
  readonly url: string;
  readonly inboxPrefix: string;
  readonly caught: Caught;
}

const answerMs = 10_000;
const nothing = new Uint8Array();

export class Wire {
  readonly client: NatsClient;
  readonly #connection: NatsConnection;
  readonly #inboxPrefix: string;
  readonly #caught: Caught;
  readonly ended: Promise<BrokerError>;
  #end: (why: BrokerError) => void = () => {};
  #over: BrokerError | undefined;
  /** How to reject what waits for an answer, until it has come; each waits 10 seconds at most. */
  readonly #waiting = new Set<(why: BrokerError) => void>();
  /** Who hears that a subject may not be used; bound: the parts of one link. */
  readonly #violated: ((subject: string) => void)[] = [];

  constructor({ client, connection, url, inboxPrefix, caught }: WireParts) {
    this.client = client;
    this.#connection = connection;
    this.#inboxPrefix = inboxPrefix;
    this.#caught = caught;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#watch().catch(caught);
    connection
      .closed()
      .then((error) => this.finish(endOfLink(client, url, error)))
      .catch(caught);
  }

  /** Why it has ended; undefined while it has not. */
  get over(): BrokerError | undefined {
    return this.#over;
  }

  get info() {
    return this.#connection.info;
  }

  onViolation(heard: (subject: string) => void): void {
    this.#violated.push(heard);
  }

  /** Rejects with a BrokerError. */
  ask(
    subject: string,
    body: Uint8Array | string = nothing,
    { headers }: AskOptions = {},
  ): Promise<Msg> {
    const options = headers === undefined ? {} : { headers };
    return this.#untilEnd(() =>
      this.#connection.request(subject, body, { timeout: answerMs, ...options }),
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
        if (error === null) contain(() => heard(message), this.#caught);
      },
    });
    return { [Symbol.dispose]: () => subscription.unsubscribe() };
  }

  /** A subject of our own for answers. */
  newInbox(): string {
    return this.client.createInbox(this.#inboxPrefix);
  }

  /** When the server has seen everything that was sent before. Rejects with a BrokerError. */
  flush(): Promise<void> {
    return this.#untilEnd(() => this.#connection.flush());
  }

  finish(why: BrokerError): void {
    if (this.#over !== undefined) return;
    this.#over = why;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const reject of waiting) reject(why);
    this.#end(why);
  }

  /** After it is finished: the last words are still sent. */
  async close(lastWords: (connection: NatsConnection) => Promise<void>): Promise<void> {
    try {
      if (!this.#connection.isClosed()) await lastWords(this.#connection);
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
      const failed = (error: unknown) => reject(this.#over ?? refusedRequest(this.client, error));
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
