// The table of legacy sessions, in the order of use, the longest idle first, so that expiry needs
// one timer for all and the session to drop when the table is full is found at once. A session with
// an open stream or running work is not idle. An id is valid only with the credential it was issued
// to.

import { randomBytes } from 'node:crypto';
import { UseOrder } from '../../../kernel/use-order.ts';
import type { Principal } from '../../../policy/principal.ts';
import type { Edge } from '../http-context.ts';
import { HttpSession, type SessionTable } from './http-session.ts';
import { ByteBudget } from './kept-events.ts';

export class Sessions implements SessionTable {
  readonly budget: ByteBudget;
  readonly #edge: Edge;
  /** By id, until they end or expire; at most `limits.sessions`. */
  readonly #sessions = new Map<string, HttpSession>();
  readonly #order = new UseOrder<HttpSession>();
  #timer: Disposable | undefined;

  constructor(edge: Edge) {
    this.#edge = edge;
    this.budget = new ByteBudget(edge.limits.keptBytesOfAll, () => this.#relieve());
    const { budget } = this;
    edge.outgoing.addSavings({
      get bytes() {
        return budget.bytes;
      },
      giveUp: (bytes) => this.#economise(budget.bytes - bytes),
    });
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** A new session; undefined if the table is full of sessions in use. */
  open(principal: Principal): HttpSession | undefined {
    if (this.#sessions.size >= this.#edge.limits.sessions && !this.#giveUpOne()) return undefined;
    const session = new HttpSession(newSessionId(), principal, this.#edge, this);
    session.lastUsedAt = this.#edge.clock.now();
    session.place = this.#order.add(session);
    this.#sessions.set(session.id, session);
    if (this.#timer === undefined) this.#expireLater();
    return session;
  }

  /** The session with this id, if it is this principal's. */
  find(id: string, principal: Principal): HttpSession | undefined {
    const session = this.#sessions.get(id);
    if (session === undefined || !isSamePrincipal(session.principal, principal)) return undefined;
    this.used(session);
    return session;
  }

  used(session: HttpSession): void {
    if (session.place === undefined) return;
    session.lastUsedAt = this.#edge.clock.now();
    this.#order.used(session.place);
  }

  end(session: HttpSession): void {
    this.#sessions.delete(session.id);
    if (session.place !== undefined) this.#order.remove(session.place);
    session.place = undefined;
    session.close();
    if (this.#sessions.size === 0) this.#stopTimer();
  }

  /** Ends the streams that are listened on; their sessions go on. */
  endStreams(): void {
    for (const session of [...this.#sessions.values()]) session.stopListening();
  }

  endAll(): void {
    for (const session of [...this.#sessions.values()]) this.end(session);
  }

  /** One timer for all: for the session that is first when it fires. */
  #expireLater(): void {
    const { first } = this.#order;
    if (first === undefined) return;
    const { clock, limits } = this.#edge;
    const inMs = first.lastUsedAt + limits.sessionIdleMs - clock.now();
    this.#timer = clock.after(Math.max(0, inMs), () => this.#expire(), true);
  }

  #expire(): void {
    this.#timer = undefined;
    const { clock, limits } = this.#edge;
    const latest = clock.now() - limits.sessionIdleMs;
    let { first } = this.#order;
    while (first && first.lastUsedAt <= latest) {
      // Using one puts it last, with the time of now, so this ends.
      if (first.isBusy) this.used(first);
      else this.end(first);
      first = this.#order.first;
    }
    this.#expireLater();
  }

  /** Makes room by ending the session that has been idle longest. */
  #giveUpOne(): boolean {
    for (const session of this.#order) {
      if (session.isBusy) continue;
      this.#edge.report(
        `http: ${this.#sessions.size} sessions are open; the one idle longest was ended to make room`,
      );
      this.end(session);
      return true;
    }
    return false;
  }

  /** More was kept: it may be too much for us, or for all that waits. */
  #relieve(): void {
    if (this.budget.isExceeded) this.#economise(this.#edge.limits.keptBytesOfAll);
    this.#edge.outgoing.check();
  }

  /** Until they keep no more than this, sessions drop stored events, those idle longest first. */
  #economise(bytes: number): void {
    for (const session of this.#order) {
      if (this.budget.bytes <= bytes) return;
      session.forget();
    }
  }

  #stopTimer(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }
}

/** 144 random bits, in letters that every header and query can carry. */
export function newSessionId(): string {
  return randomBytes(18).toString('base64url');
}

/** The same principal with the same rights; a session does not outlive a change of role. */
export function isSamePrincipal(one: Principal, other: Principal): boolean {
  return one.id === other.id && one.role === other.role;
}
