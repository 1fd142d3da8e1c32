// Keeps the store connected: performs what `connection-machine.ts` decides. Whoever needs the server asks for the
// session of the moment, and is refused at once while there is none; only the first attempt is waited for.

import type { Clock, Random } from '../../kernel/clock.ts';
import { within } from '../../kernel/clock.ts';
import { type Caught, ignored } from '../../kernel/contain.ts';
import { NatsError } from '../../nats/nats-error.ts';
import {
  type ConnectionEvent,
  type ConnectionPolicy,
  type ConnectionState,
  connectionStep,
  firstState,
  type Trouble,
} from './connection-machine.ts';
import { answerMs, type Session } from './session.ts';

export interface ConnectionParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly policy: ConnectionPolicy;
  /** Rejects with a NatsError. */
  readonly open: (signal: AbortSignal) => Promise<Session>;
  readonly report: (problem: string) => void;
  readonly recovered: () => void;
  readonly troubleOf: (error: NatsError) => Trouble;
  readonly caught: Caught;
}

export class Connection {
  readonly #parts: ConnectionParts;
  readonly #abort = new AbortController();
  /** Who is told of each new session: at most one for each name in the source, until it is disposed of. */
  readonly #listeners = new Set<(session: Session) => void>();
  #state: ConnectionState = firstState;
  #session: Session | undefined;
  #timer: Disposable | undefined;
  #first: Promise<void>;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
    this.#first = this.#connect();
  }

  /** What is wrong now; undefined: nothing. */
  get problem(): string | undefined {
    const state = this.#state;
    if (state.kind === 'up' || state.kind === 'closed') return undefined;
    return state.trouble?.problem ?? 'the NATS server is being connected to';
  }

  /** Rejects with a NatsError if there is none. */
  async session(): Promise<Session> {
    const isFirst = this.#state.kind === 'connecting' && this.#state.trouble === null;
    if (isFirst) await within(this.#parts.clock, answerMs, this.#first);
    if (this.#session !== undefined) return this.#session;
    throw new NatsError('lost', this.problem ?? 'the store is closed');
  }

  /** Called with each session from the next on, and at once with the present one. */
  onSession(heard: (session: Session) => void): Disposable {
    this.#listeners.add(heard);
    if (this.#session !== undefined) heard(this.#session);
    return { [Symbol.dispose]: () => void this.#listeners.delete(heard) };
  }

  async close(): Promise<void> {
    this.#step({ kind: 'close' });
    this.#timer?.[Symbol.dispose]();
    this.#abort.abort();
    await this.#first;
    const session = this.#session;
    this.#session = undefined;
    await session?.close();
  }

  /** Never rejects. */
  async #connect(): Promise<void> {
    try {
      const session = await this.#parts.open(this.#abort.signal);
      if (this.#state.kind === 'closed') return await session.close();
      this.#opened(session);
    } catch (error) {
      this.#failed(error);
    }
  }

  #opened(session: Session): void {
    this.#session = session;
    session.wire.ended
      .then((why) => {
        if (this.#session === session) this.#session = undefined;
        // A connection that was given up for a missing answer is closed on our side, too.
        session.close().catch(ignored);
        this.#failed(why);
      })
      .catch(this.#parts.caught);
    this.#step({ kind: 'opened', at: this.#parts.clock.now() });
    for (const heard of this.#listeners) heard(session);
  }

  #failed(error: unknown): void {
    const { clock, random, troubleOf, caught } = this.#parts;
    if (!(error instanceof NatsError)) caught(error);
    const known = error instanceof NatsError ? error : new NatsError('lost', String(error));
    const trouble = troubleOf(known);
    this.#step({ kind: 'failed', trouble, random: random(), at: clock.now() });
  }

  #step(event: ConnectionEvent): void {
    const [next, effects] = connectionStep(this.#state, event, this.#parts.policy);
    this.#state = next;
    const { clock, report, recovered } = this.#parts;
    for (const effect of effects) {
      if (effect.kind === 'report') report(effect.problem);
      if (effect.kind === 'recovered') recovered();
      if (effect.kind === 'connect') this.#first = this.#connect();
      if (effect.kind === 'wait') {
        this.#timer = clock.after(effect.ms, () => this.#step({ kind: 'due' }), true);
      }
    }
  }
}
