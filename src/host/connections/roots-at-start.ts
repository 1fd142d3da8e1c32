// Handles servers that ask for roots as soon as they are started, and refuse calls that come before
// the answer. The first call on a connection waits until the first such request has been answered.
// Whether a server asks is found out at its first start for a client that has roots, within a short
// time, and remembered: a server that does not ask costs nothing later. A server that asked before
// any client was there is notified by the first client that roots changed.

import type { Clock } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';
import type { Connection } from '../../upstream/connection.ts';
import { answersProbe } from '../../upstream/liveness.ts';
import type { ServerFacts } from '../servers/server-facts.ts';
import type { Caller } from './caller.ts';
import { hasRoots } from './client-class.ts';
import type { ConnectionSlot } from './connection-slot.ts';

/** How long a server may take to read what it was sent, before it counts as one that does not ask this time. */
const readMs = 2_000;
/** How long the first call waits, from then on, to see whether the server asks. */
const findOutMs = 500;
/** How long it waits for a server that is known to ask, and then for the client's answer. */
const answerMs = 2_000;
/** How long for a server that is notified of changed roots. */
const changeMs = 1_000;
/** What a server does with the answer (usually reading folders) takes a moment. */
const settleMs = 100;
/** On a busy machine it takes longer: the server must answer a ping after that, for which it has this time. */
const pingMs = 1_000;

/** What the server is doing when it asks. */
export interface AskedWhile {
  /** It has a call, and may ask because of it. */
  readonly isInCall: boolean;
  /** It has been asked for its lists, and may ask because of them. */
  readonly isListing: boolean;
}

export class RootsAtStart {
  readonly #facts: () => ServerFacts;
  readonly #clock: Clock;
  /** Of connections whose first question is awaited, until it is answered, its time is over or the connection is. */
  readonly #turns = new Map<Connection, Turn>();
  /** When each connection was made; gone with the connection. */
  readonly #madeAt = new WeakMap<Connection, number>();
  /** Those that were made, as long as they exist. */
  readonly #made = new WeakSet<Connection>();

  /** `facts` are those of the server as it is configured now. */
  constructor(facts: () => ServerFacts, clock: Clock) {
    this.#facts = facts;
    this.#clock = clock;
  }

  /** A connection was made; its server may ask now. `isListing`: it is asked for its lists, too. */
  connected(slot: ConnectionSlot, connection: Connection, isListing: boolean): void {
    this.#made.add(connection);
    if (connection.era !== 'legacy' || connection.isLost || !hasRoots(slot.aim.clients)) return;
    this.#madeAt.set(connection, this.#clock.now());
    const { asksAtStart } = this.#facts().now;
    // No client is there yet that could answer, or none will be asked.
    if (asksAtStart === false || slot.waitingFor(connection).length === 0) return;
    const isOnlyForLists = asksAtStart === true && !isListing;
    const learnNot = () =>
      this.#facts().learn({
        asksAtStart: false,
        ...(isOnlyForLists ? { asksForLists: true } : {}),
      });
    const turn = this.#awaitQuestion(connection, asksAtStart ? answerMs : findOutMs, learnNot);
    turn.isAtStart = true;
  }

  /** It is taken over from the process before this one: what it asks now has nothing to do with its start. */
  adopted(connection: Connection): void {
    this.#made.add(connection);
    this.#madeAt.set(connection, this.#clock.now() - answerMs);
  }

  /** What a call has to wait for; undefined if there is nothing. */
  before(slot: ConnectionSlot, connection: Connection, caller: Caller): Promise<void> | undefined {
    const turn = this.#turns.get(connection);
    if (turn) return turn.over;
    const { client } = caller;
    if (client.findRoots && slot.roots && caller.roots === undefined && !connection.isLost) {
      return client.hasRoots(caller) ? this.#findWhetherKept(connection) : undefined;
    }
    const { asksAtStart, asksAfterRootsChange } = this.#facts().now;
    const mustTell = asksAtStart === true && slot.isUnused(connection) && !connection.isLost;
    // One that is asked in calls was asked before its call came here.
    const hasRoots = client.findRoots ? slot.roots !== undefined : client.hasRoots(caller);
    if (!mustTell || !hasRoots) return undefined;
    // It was started before its client was there, and asks only at its start: another process is needed.
    const renew = () => {
      this.#facts().learn({ asksAfterRootsChange: false });
      slot.supervisor.renew().catch(ignored);
    };
    if (asksAfterRootsChange === false) {
      renew();
      return Promise.resolve();
    }
    slot.claim(connection, client);
    connection.notify('notifications/roots/list_changed', { members: '' });
    return this.#awaitQuestion(connection, changeMs, renew).over;
  }

  /**
   * It was told roots in another call of this client, perhaps of another program: one that keeps them
   * usually asks again when they change. That is found out once.
   */
  #findWhetherKept(connection: Connection): Promise<void> | undefined {
    const facts = this.#facts();
    if (facts.now.keepsRoots !== undefined) return undefined;
    connection.notify('notifications/roots/list_changed', { members: '' });
    const unasked = () => {
      // On another connection it may have been found out meanwhile.
      if (facts.now.keepsRoots === undefined) facts.learn({ keepsRoots: false });
    };
    return this.#awaitQuestion(connection, findOutMs, unasked).over;
  }

  /** It has not asked in a call of a kind in which it had asked before. */
  notAskedAgain(): void {
    this.#facts().learn({ keepsRoots: true });
  }

  /**
   * What is asked later, in the middle of calls, has nothing to do with the start. `isForwarded`:
   * a client is asked.
   */
  asked(connection: Connection, isForwarded: boolean, { isInCall, isListing }: AskedWhile): void {
    const known = this.#turns.get(connection);
    // It may ask before the connection is made: then the first call waits for that answer, too.
    const isEarly = isForwarded && !this.#made.has(connection) && !connection.isLost;
    const turn = known ?? (isEarly ? this.#begin(connection) : undefined);
    const madeAt = this.#madeAt.get(connection) ?? this.#clock.now();
    const isAtStart = known?.isAtStart === true || this.#clock.now() - madeAt < answerMs;
    const isForLists = isListing && this.#facts().now.asksForLists === true;
    this.#facts().learn({
      asksRoots: true,
      ...(isInCall ? {} : { keepsRoots: true }),
      ...(isAtStart && !isInCall && !isForLists ? { asksAtStart: true } : {}),
    });
    turn?.asked();
  }

  answered(connection: Connection): void {
    this.#turns.get(connection)?.answered();
  }

  /** The connection is closed: nothing will be asked or answered on it. */
  lost(connection: Connection): void {
    this.#turns.get(connection)?.end();
  }

  /**
   * Waits for a question. A busy server has not read yet what it is to ask about: the time counts from
   * its answer to a ping that was sent after that. `unasked` is called when it has passed.
   */
  #awaitQuestion(connection: Connection, waitMs: number, unasked: () => void): Turn {
    const turn = this.#begin(connection);
    turn.within(readMs, turn.end);
    const giveUp = () => {
      if (!connection.isLost) unasked();
      turn.end();
    };
    const count = () => turn.isAwaited && turn.within(waitMs, giveUp);
    // It never rejects.
    answersProbe(connection).then(count).catch(ignored);
    return turn;
  }

  #begin(connection: Connection): Turn {
    const forget = () => {
      if (this.#turns.get(connection) === turn) this.#turns.delete(connection);
    };
    const turn = new Turn(connection, this.#clock, forget);
    this.#turns.set(connection, turn);
    return turn;
  }
}

/** One wait for a question and its answer. */
class Turn {
  readonly over: Promise<void>;
  /** Has nothing been asked yet? */
  isAwaited = true;
  /** Is it about what is asked because of the start? */
  isAtStart = false;
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #forget: () => void;
  #timer: Disposable | undefined;
  #resolve!: () => void;

  constructor(connection: Connection, clock: Clock, forget: () => void) {
    this.#connection = connection;
    this.#clock = clock;
    this.#forget = forget;
    this.over = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** From now on it has this time for what comes next. */
  within(ms: number, then: () => void): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = this.#clock.after(ms, then);
  }

  asked(): void {
    this.isAwaited = false;
    this.within(answerMs, this.end);
  }

  answered(): void {
    this.isAwaited = false;
    this.within(settleMs, () => this.#settle());
  }

  #settle(): void {
    if (this.#connection.isLost) return this.end();
    this.within(pingMs, this.end);
    // It never rejects: no answer counts as much as one.
    answersProbe(this.#connection).then(this.end).catch(ignored);
  }

  readonly end = (): void => {
    this.isAwaited = false;
    this.#timer?.[Symbol.dispose]();
    this.#forget();
    this.#resolve();
  };
}
