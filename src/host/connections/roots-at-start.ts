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

/** How long the first call waits to see whether the server asks. */
const findOutMs = 500;
/** How long it waits at most for a server that is known to ask, and then for the client's answer. */
const answerMs = 2_000;
/** What a server does with the answer (usually reading folders) takes a moment. */
const settleMs = 100;
/** On a busy machine it takes longer: the server must answer a ping after that, for which it has this time. */
const pingMs = 1_000;

/** One wait for a question and its answer. */
interface Turn {
  readonly over: Promise<void>;
  asked(): void;
  answered(): void;
  end(): void;
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

  /** A connection was made; its server may ask now. */
  connected(slot: ConnectionSlot, connection: Connection): void {
    this.#made.add(connection);
    if (connection.era !== 'legacy' || connection.isLost || !hasRoots(slot.aim.clients)) return;
    this.#madeAt.set(connection, this.#clock.now());
    const { asksAtStart } = this.#facts().now;
    // No client is there yet that could answer, or none will be asked.
    if (asksAtStart === false || !slot.onlyClientWaitingFor(connection)) return;
    const learnNot = () => this.#facts().learn({ asksAtStart: false });
    this.#begin(connection, asksAtStart ? answerMs : findOutMs, learnNot);
  }

  /** What a call has to wait for; undefined if there is nothing. */
  before(slot: ConnectionSlot, connection: Connection, caller: Caller): Promise<void> | undefined {
    const turn = this.#turns.get(connection);
    if (turn) return turn.over;
    const { client } = caller;
    if (connection.isLost) return undefined;
    if (client.findRoots && slot.roots && caller.roots === undefined) {
      return client.hasRoots(caller) ? this.#findWhetherKept(connection) : undefined;
    }
    const mustTell = this.#facts().now.asksAtStart === true && slot.isUnused(connection);
    // One that is asked in calls was asked before its call came here.
    const hasRoots = client.findRoots ? slot.roots !== undefined : client.hasRoots(caller);
    if (!mustTell || !hasRoots) return undefined;
    slot.claim(connection, client);
    connection.notify('notifications/roots/list_changed', { members: '' });
    // That it does not ask again says nothing about its behaviour at a start.
    return this.#begin(connection, answerMs, ignored).over;
  }

  /**
   * It was told roots in another call of this client, perhaps of another program: one that keeps them
   * asks again when they change. That is found out once.
   */
  #findWhetherKept(connection: Connection): Promise<void> | undefined {
    const facts = this.#facts();
    if (facts.now.keepsRoots !== undefined) return undefined;
    connection.notify('notifications/roots/list_changed', { members: '' });
    return this.#begin(connection, findOutMs, () => facts.learn({ keepsRoots: false })).over;
  }

  /**
   * What is asked later, in the middle of calls, has nothing to do with the start. `isForwarded`:
   * a client is asked; `isInCall`: the server has a call that it may ask for.
   */
  asked(connection: Connection, isForwarded: boolean, isInCall: boolean): void {
    const known = this.#turns.get(connection);
    // It may ask before the connection is made: then the first call waits for that answer, too.
    const isEarly = isForwarded && !this.#made.has(connection) && !connection.isLost;
    const turn = known ?? (isEarly ? this.#begin(connection, answerMs, ignored) : undefined);
    const madeAt = this.#madeAt.get(connection) ?? this.#clock.now();
    const isAtStart = this.#clock.now() - madeAt < answerMs;
    this.#facts().learn({
      asksRoots: true,
      ...((turn || isAtStart) && !isInCall ? { keepsRoots: true } : {}),
      ...(isEarly || isAtStart ? { asksAtStart: true } : {}),
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

  /** `unasked` is called when the whole time has passed and nothing was asked. */
  #begin(connection: Connection, waitMs: number, unasked: () => void): Turn {
    let resolve!: () => void;
    const over = new Promise<void>((done) => {
      resolve = done;
    });
    const end = () => {
      timer[Symbol.dispose]();
      if (this.#turns.get(connection) === turn) this.#turns.delete(connection);
      resolve();
    };
    const giveUp = () => {
      if (!connection.isLost) unasked();
      end();
    };
    let timer = this.#clock.after(waitMs, giveUp);
    const asked = () => {
      timer[Symbol.dispose]();
      timer = this.#clock.after(answerMs, end);
    };
    const settle = () => {
      timer = this.#clock.after(pingMs, end);
      if (connection.isLost) end();
      // It never rejects: no answer counts as much as one.
      else answersProbe(connection).then(end).catch(ignored);
    };
    const answered = () => {
      timer[Symbol.dispose]();
      timer = this.#clock.after(settleMs, settle);
    };
    const turn: Turn = { over, asked, answered, end };
    this.#turns.set(connection, turn);
    return turn;
  }
}
