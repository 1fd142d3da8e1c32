// The bus between replicas on a NATS server: the one that has their store, over a connection of its own, so that what
// is passed on between replicas does not hold up what is stored. Nothing is kept there. A user who may not use its
// subjects is noticed when it connects, by asking itself, and whenever the server refuses one.

import { randomBytes } from 'node:crypto';
import type { Msg } from '@nats-io/transport-node';
import { type Clock, type Random, within } from '../kernel/clock.ts';
import { type Caught, ignored } from '../kernel/contain.ts';
import type { NatsPlace } from '../nats/nats-address.ts';
import { NatsError } from '../nats/nats-error.ts';
import { Connection } from '../store/nats/connection.ts';
import { usualPolicy } from '../store/nats/connection-machine.ts';
import { openSession, type Session } from '../store/nats/session.ts';
import { type Bus, BusError, type BusMessage } from './bus.ts';

export interface NatsBusParts {
  readonly place: NatsPlace;
  readonly clock: Clock;
  readonly random?: Random;
  readonly caught: Caught;
  /** What does not work and what to do, in one line; each kind of subject once. */
  readonly report?: (problem: string) => void;
}

interface Subscribed {
  readonly subject: string;
  readonly group: string | undefined;
  readonly heard: (message: BusMessage) => void;
  /** On the connection of the moment. */
  live: Disposable | undefined;
}

/** The third part of the subjects between replicas that name one of them. */
const busSubjects = ['claim', 'tunnel', 'open', 'life', 'taken'] as const;
const mostRefused = 16;
/** Of a server that says nothing else. */
const usualBytes = 1_048_576;
/** A server that answers, answers at once. */
const lastWordsMs = 2_000;

export class NatsBus implements Bus, AsyncDisposable {
  readonly #parts: NatsBusParts;
  readonly #connection: Connection;
  /** Until they are disposed; bound: the parts of one replica. */
  readonly #subscribed = new Set<Subscribed>();
  /** Until they are disposed; bound: the parts of one replica. */
  readonly #losses = new Set<() => void>();
  /** Until they are disposed; bound: the parts of one replica. */
  readonly #returns = new Set<() => void>();
  /** Kinds of subjects that the server has refused, which were reported; at most `mostRefused`. */
  readonly #refused = new Set<string>();
  #session: Session | undefined;

  constructor(parts: NatsBusParts) {
    const { place, clock, random = Math.random, caught } = parts;
    this.#parts = parts;
    this.#connection = new Connection({
      ...{ clock, random, caught, policy: usualPolicy },
      open: (signal) => openSession({ place, clock, caught }, signal),
      // The store says the same of the same server.
      report: ignored,
      recovered: ignored,
      troubleOf: ({ message, isPermanent }) => ({ problem: message, isPermanent }),
    });
    this.#connection.onSession((session) => this.#opened(session));
  }

  publish(subject: string, body: Uint8Array): void {
    const session = this.#session;
    // One that is too large is refused by the client with an error; the tunnel that it belongs to notices the gap.
    if (session !== undefined && body.length <= session.maxPayload) {
      session.wire.publish(subject, body);
    }
  }

  get maxBytes(): number {
    return this.#session?.maxPayload ?? usualBytes;
  }

  subscribe(subject: string, heard: (message: BusMessage) => void, group?: string): Disposable {
    const one: Subscribed = { subject, group, heard, live: undefined };
    this.#subscribed.add(one);
    if (this.#session !== undefined) listen(this.#session, one);
    return {
      [Symbol.dispose]: () => {
        this.#subscribed.delete(one);
        one.live?.[Symbol.dispose]();
      },
    };
  }

  async ask(subject: string, body: Uint8Array, withinMs: number): Promise<Uint8Array> {
    const { clock } = this.#parts;
    let timer: Disposable | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      const refused = () => reject(new BusError('late', 'another replica did not answer in time'));
      timer = clock.after(withinMs, refused);
    });
    // It may come while nobody waits for it yet, or any more.
    late.catch(ignored);
    const asking = this.#connection.session().then(({ wire }) => wire.ask(subject, body));
    asking.catch(ignored);
    try {
      const answer = await Promise.race([asking, late]);
      return answer.data;
    } catch (error) {
      throw error instanceof NatsError ? refusedBy(error) : error;
    } finally {
      timer?.[Symbol.dispose]();
    }
  }

  onLoss(lost: () => void): Disposable {
    this.#losses.add(lost);
    return { [Symbol.dispose]: () => void this.#losses.delete(lost) };
  }

  onReturn(back: () => void): Disposable {
    this.#returns.add(back);
    return { [Symbol.dispose]: () => void this.#returns.delete(back) };
  }

  #opened(session: Session): void {
    this.#session = session;
    session.wire.onViolation((subject) => this.#violated(subject));
    for (const one of this.#subscribed) listen(session, one);
    for (const back of [...this.#returns]) back();
    session.wire.ended
      .then(() => {
        if (this.#session === session) this.#session = undefined;
        for (const lost of [...this.#losses]) lost();
      })
      .catch(this.#parts.caught);
    this.#probe(session).catch(this.#parts.caught);
  }

  /** Asks itself at a subject of each kind that replicas use; what the server refuses, the wire tells. */
  async #probe({ wire }: Session): Promise<void> {
    const { namespace } = this.#parts.place;
    const id = randomBytes(8).toString('hex');
    for (const kind of busSubjects) {
      const subject = `hfr.${namespace}.${kind}.${id}`;
      using _heard = wire.subscribe(subject, (message) => void message.respond());
      try {
        await wire.ask(subject);
      } catch (error) {
        if (!(error instanceof NatsError)) throw error;
        // It was heard and not answered, or the answer was not heard.
        if (error.reason === 'timeout') return this.#violated('_INBOX.>');
        if (wire.over !== undefined) return;
      }
    }
  }

  #violated(subject: string): void {
    const kind = subject
      .split('.')
      .slice(0, subject.startsWith('hfr.') ? 3 : 1)
      .join('.');
    if (this.#refused.has(kind) || this.#refused.size >= mostRefused) return;
    this.#refused.add(kind);
    const { url } = this.#parts.place;
    this.#parts.report?.(
      `replicas do not reach each other at ${url}: the user in "store" may not use the subject ${subject}; let it publish and subscribe to "hfr.>" and "_INBOX.>"`,
    );
  }

  /** What was published is with the server, if it answers: the client would drop what it has not sent yet. */
  async [Symbol.asyncDispose](): Promise<void> {
    const sent = this.#session?.wire.flush().catch(ignored);
    if (sent !== undefined) await within(this.#parts.clock, lastWordsMs, sent);
    await this.#connection.close();
  }
}

function listen({ wire }: Session, one: Subscribed): void {
  const heard = (message: Msg) => {
    const { subject, data } = message;
    const answer = (body: Uint8Array) => {
      if (wire.over === undefined) message.respond(body);
    };
    one.heard({ subject, body: data, answer });
  };
  one.live = wire.subscribe(one.subject, heard, one.group);
}

function refusedBy({ reason, message }: NatsError): BusError {
  if (reason === 'absent') return new BusError('absent', message);
  return new BusError(reason === 'timeout' ? 'late' : 'lost', message);
}
