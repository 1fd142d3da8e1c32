// Runs the lifecycle machine: it opens, keeps and closes the connections of one server. One start
// serves any number of waiters; a connection that arrives too late is closed, never used; and
// everything that is being cleaned up is tracked until it is done. How a connection is opened is
// passed in.

import type { Clock, Random } from '../kernel/clock.ts';
import { ignored } from '../kernel/contain.ts';
import { Fault, faultFrom } from '../kernel/fault.ts';
import { ClientAsked } from './client-asked.ts';
import { type HandedLife, phaseFrom, writtenLife } from './handed-supervision.ts';
import {
  type CloseReason,
  type LifeEffect,
  type LifeEvent,
  type LifeState,
  lifeStep,
  type Phase,
  type StopReason,
  unborn,
} from './life-machine.ts';
import {
  type RestartPolicy,
  type RestartState,
  restartsLeft,
  withinWindow,
} from './restart-machine.ts';
import { StartWaiters } from './start-waiters.ts';
import type { Connect, Supervised } from './supervised.ts';

export interface LifePolicy {
  readonly restart: RestartPolicy;
  readonly startTimeoutMs: number;
}

/** Called for everything that happens, in order. */
export interface LifeListener<C> {
  starting(generation: number): void;
  ready(generation: number, connection: C, startMs: number): void;
  /** The same of one that was taken over from the process before this one. */
  adopted(generation: number, connection: C): void;
  startFailed(generation: number, fault: Fault): void;
  lost(generation: number, cause: Fault): void;
  stopping(generation: number, reason: StopReason): void;
  stopped(generation: number, swept: number): void;
  news(news: 'cooling' | 'ejected' | 'idle', delayMs: number): void;
  /** The fault with which waiters are refused. */
  refusal(why: 'start-failed' | 'ejected' | 'stopped'): Fault;
  isWanted(): boolean;
}

/** What all connections of one server share. */
export interface LifeShared {
  restarts: RestartState;
  generation: number;
}

interface Start {
  readonly generation: number;
  /** It is no start, but taken over from the process before this one. */
  readonly isAdopted: boolean;
  readonly abort: AbortController;
  settled: Promise<void>;
  /** Set when the connection was reported lost before it could be used. */
  lostEarly: Fault | undefined;
}

export class Life<C extends Supervised> {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #random: Random;
  /** May change while running; it applies from the next event on. */
  policy: LifePolicy;
  readonly #connect: Connect<C>;
  readonly #listener: LifeListener<C>;
  readonly #shared: LifeShared;
  readonly #waiters = new StartWaiters<C>();
  /** What is being closed or cleaned up, until that is done; an end must wait for it. */
  readonly #closing = new Set<Promise<void>>();
  /** Lost connections, until their calls have ended; a stop ends them too. */
  readonly #retired = new Set<C>();
  /** Those that the process after this one has, as long as they exist: their end here is none of the server. */
  readonly #givenAway = new WeakSet<C>();
  #state: LifeState = unborn;
  #connection: C | undefined;
  #start: Start | undefined;
  #timer: Disposable | undefined;

  constructor(
    name: string,
    edges: { readonly clock: Clock; readonly random: Random },
    policy: LifePolicy,
    connect: Connect<C>,
    listener: LifeListener<C>,
    shared: LifeShared,
  ) {
    this.#name = name;
    this.#clock = edges.clock;
    this.#random = edges.random;
    this.policy = policy;
    this.#connect = connect;
    this.#listener = listener;
    this.#shared = shared;
  }

  get phase(): Phase {
    return this.#state.phase;
  }

  get generation(): number {
    return this.#state.generation;
  }

  /** The connection was given to the process after this one. */
  get isGiven(): boolean {
    const { phase } = this.#state;
    return phase.kind === 'ready' && phase.isGiven === true;
  }

  /** The open connection, if there is one now. */
  get connection(): C | undefined {
    return this.#connection;
  }

  get restarts(): number {
    return withinWindow(this.#shared.restarts, this.#clock.now(), this.policy.restart).length;
  }

  get restartsLeft(): number | null {
    return restartsLeft(this.#shared.restarts, this.#clock.now(), this.policy.restart);
  }

  /** The connection, started if necessary; shared by all who wait for it. */
  acquire(): Promise<C> {
    return this.#waiters.wait(() => this.want());
  }

  /** Starts it, if it is not running and may be started. */
  want(): void {
    this.#dispatch({ kind: 'wanted', at: this.#clock.now() });
  }

  unwanted(): void {
    this.#dispatch({ kind: 'unwanted' });
  }

  // --- from one process to the next --------------------------------------------------------

  /**
   * Gives the connection to the process after this one. Undefined: there is none, or it cannot be given. What was begun
   * here goes on with it; nothing that happens to it is counted here any more.
   */
  async give<T>(give: (connection: C) => Promise<T | undefined>): Promise<T | undefined> {
    const connection = this.#connection;
    if (connection === undefined || this.isGiven) return undefined;
    this.#dispatch({ kind: 'given' });
    let given: T | undefined;
    try {
      given = await give(connection);
      if (given !== undefined) this.#givenAway.add(connection);
      return given;
    } finally {
      if (given === undefined) this.#dispatch({ kind: 'not-given' });
    }
  }

  /** What was given away has ended: whoever needs it once more gets another one here. */
  givenEnded(): void {
    if (this.isGiven) this.#dispatchLost(this.generation);
  }

  get written(): HandedLife {
    return writtenLife(this.#state, this.#clock.now());
  }

  /** As it was in the process before this one; `isHanded`: its connection was handed over, and is taken over now. */
  restore({ generation, phase }: HandedLife, isHanded: boolean): void {
    const now = this.#clock.now();
    this.#state = { ...this.#state, generation, phase: phaseFrom(phase, now) };
    const { phase: resumed } = this.#state;
    if (resumed.kind === 'cooling') this.#wake(Math.max(0, resumed.until - now));
    if (!isHanded || phase.kind !== 'ready') return;
    this.#dispatch({ kind: 'adopted', generation, since: now - phase.forMs });
  }

  hung(generation: number, cause: Fault): void {
    if (!this.#isCurrent(generation, 'ready') || this.isGiven) return;
    this.#listener.lost(generation, cause);
    this.#dispatch({ kind: 'hung', generation, at: this.#clock.now(), random: this.#random() });
  }

  /** Stops what runs. Resolves when everything has been cleaned up. */
  async end(kind: 'reload' | 'stop' | 'remove' | 'end'): Promise<void> {
    this.#dispatch({ kind });
    if (kind === 'end' || kind === 'remove') this.#timer?.[Symbol.dispose]();
    for (const connection of this.#retired) {
      const reason = kind === 'remove' ? 'removed' : kind;
      this.#track(connection.close(reason).then(() => {}));
    }
    while (this.#closing.size > 0) await Promise.allSettled([...this.#closing]);
  }

  #dispatch(event: LifeEvent): void {
    const shared = this.#shared;
    const before = { ...this.#state, restarts: shared.restarts, highest: shared.generation };
    const [state, effects] = lifeStep(before, event, this.policy.restart);
    this.#state = state;
    shared.restarts = state.restarts;
    shared.generation = state.highest;
    for (const effect of effects) this.#perform(effect);
  }

  #perform(effect: LifeEffect): void {
    switch (effect.kind) {
      case 'start':
        return this.#begin(effect.generation);
      case 'close':
        return this.#close(effect.generation, effect.reason);
      case 'discard':
        return this.#discard(effect.generation);
      case 'wake':
        return this.#wake(effect.afterMs);
      case 'serve':
        if (this.#connection) this.#waiters.serve(this.#connection);
        return;
      case 'refuse':
        return this.#refuse(effect.why);
      case 'announce':
        return this.#listener.news(effect.news, effect.delayMs);
    }
  }

  // --- starting ----------------------------------------------------------------------------

  #begin(generation: number): void {
    const abort = new AbortController();
    const startedAt = this.#clock.now();
    // Set before the connect begins: it may report a loss synchronously.
    const { phase } = this.#state;
    const isAdopted = phase.kind === 'starting' && phase.adoptedSince !== undefined;
    const settled = Promise.resolve();
    const start: Start = { generation, isAdopted, abort, settled, lostEarly: undefined };
    this.#start = start;
    const timer = this.#clock.after(this.policy.startTimeoutMs, () =>
      abort.abort(startTimeoutFault(this.#name, this.policy.startTimeoutMs)),
    );
    start.settled = this.#connect(generation, abort.signal, (cause) =>
      this.#lost(generation, cause),
    )
      .then(
        (connection) => this.#install(start, connection, startedAt),
        (error: unknown) => this.#startFailed(start, faultFrom(error)),
      )
      .finally(() => timer[Symbol.dispose]());
    if (!isAdopted) this.#listener.starting(generation);
  }

  /** A connection that cannot be used is closed: no other code has a reference to it. */
  #install(start: Start, connection: C, startedAt: number): void {
    try {
      this.#arrived(start, connection, startedAt);
    } catch (error) {
      if (this.#connection === connection) this.#takeConnection();
      this.#clean(start.generation, connection, 'lost', () => {});
      this.#startFailed(start, faultFrom(error));
    }
  }

  #arrived(start: Start, connection: C, startedAt: number): void {
    const { generation, lostEarly } = start;
    this.#start = undefined;
    if (!this.#isCurrent(generation, 'starting')) {
      this.#clean(generation, connection, 'lost', () => this.#closed(generation));
    } else if (lostEarly) {
      this.#clean(generation, connection, 'lost', () => {});
      this.#startFailed(start, lostEarly);
    } else {
      this.#connection = connection;
      if (start.isAdopted) this.#listener.adopted(generation, connection);
      else this.#listener.ready(generation, connection, this.#clock.now() - startedAt);
      this.#dispatch({ kind: 'started', generation, at: this.#clock.now() });
    }
  }

  #startFailed({ generation, isAdopted }: Start, fault: Fault): void {
    this.#start = undefined;
    // A cancelled start has ended as intended.
    if (!this.#isCurrent(generation, 'starting')) return this.#closed(generation);
    // It was ready in the process before this one: it did not fail to start, it is lost.
    if (isAdopted) return this.#lostNow(generation, fault);
    this.#listener.startFailed(generation, fault);
    const at = this.#clock.now();
    // Neither a shortage of this machine nor what its client asked for is a failure of the server.
    const isShortage = fault.code === 'overloaded';
    const isClientAsked = fault.cause instanceof ClientAsked;
    const random = this.#random();
    this.#dispatch({ kind: 'start-failed', generation, at, random, isShortage, isClientAsked });
  }

  #lost(generation: number, cause: Fault): void {
    if (this.#start?.generation === generation) {
      this.#start.lostEarly ??= cause;
      return;
    }
    if (this.#isCurrent(generation, 'ready') && !this.isGiven) this.#lostNow(generation, cause);
    else this.#dispatchLost(generation);
  }

  #lostNow(generation: number, cause: Fault): void {
    this.#listener.lost(generation, cause);
    this.#dispatchLost(generation);
  }

  #dispatchLost(generation: number): void {
    this.#dispatch({
      kind: 'lost',
      generation,
      at: this.#clock.now(),
      random: this.#random(),
      wanted: this.#listener.isWanted(),
    });
  }

  // --- ending ------------------------------------------------------------------------------

  #close(generation: number, reason: StopReason): void {
    this.#listener.stopping(generation, reason);
    if (this.#start?.generation === generation) {
      this.#start.abort.abort(
        new Fault('unavailable', `${this.#name} was stopped while it started`),
      );
      this.#track(this.#start.settled);
      return;
    }
    const connection = this.#takeConnection();
    if (connection) this.#clean(generation, connection, reason, () => this.#closed(generation));
    else this.#closed(generation);
  }

  #discard(generation: number): void {
    const connection = generation === this.#state.generation ? this.#takeConnection() : undefined;
    if (connection) this.#clean(generation, connection, 'lost', () => {});
  }

  #clean(generation: number, connection: C, reason: CloseReason, then: () => void): void {
    if (reason === 'lost') this.#retired.add(connection);
    const done = (swept: number) => {
      this.#retired.delete(connection);
      if (!this.#givenAway.has(connection)) this.#listener.stopped(generation, swept);
      then();
    };
    // A close that failed has closed all it could; the server must not stay in `stopping` because
    // of it.
    const cleaning = connection.close(reason).then(done, () => done(0));
    this.#track(cleaning);
  }

  #closed(generation: number): void {
    this.#dispatch({
      kind: 'closed',
      generation,
      at: this.#clock.now(),
      wanted: this.#listener.isWanted(),
    });
  }

  #takeConnection(): C | undefined {
    const connection = this.#connection;
    this.#connection = undefined;
    return connection;
  }

  #track(closing: Promise<void>): void {
    this.#closing.add(closing);
    const done = () => this.#closing.delete(closing);
    closing.finally(done).catch(ignored);
  }

  // --- waiting -----------------------------------------------------------------------------

  #wake(afterMs: number): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = this.#clock.after(afterMs, () =>
      this.#dispatch({
        kind: 'elapsed',
        at: this.#clock.now(),
        wanted: this.#listener.isWanted(),
      }),
    );
  }

  #refuse(why: 'start-failed' | 'ejected' | 'stopped'): void {
    if (!this.#waiters.isEmpty) this.#waiters.refuse(this.#listener.refusal(why));
  }

  #isCurrent(generation: number, phase: Phase['kind']): boolean {
    return generation === this.#state.generation && this.#state.phase.kind === phase;
  }
}

function startTimeoutFault(server: string, startTimeoutMs: number): Fault {
  return new Fault(
    'start_timeout',
    `${server} started but was not ready within ${startTimeoutMs} ms; raise startTimeoutMs if it needs longer`,
    { server },
  );
}
