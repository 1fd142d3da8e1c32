// Sessions that are open here and that another replica may have taken over, because this one could not be reached or
// stood still: each is looked up in the store again before it is used, and all are soon. One that another replica has
// is let go: its streams end, so that its client comes again and is passed on, and calls that run here may end here.

import type { Clock } from '../../../kernel/clock.ts';
import type { Caught } from '../../../kernel/contain.ts';
import { ownerOf } from '../../../policy/principal.ts';
import type { Doubt, Elsewhere, Peers } from '../replicas/peers.ts';
import type { HttpSession } from './http-session.ts';
import type { KeptSessions } from './kept-sessions.ts';

export interface DoubtedSessionsParts {
  readonly kept: KeptSessions;
  readonly peers: Peers;
  readonly clock: Clock;
  /** Those that are open. */
  readonly sessions: () => readonly HttpSession[];
  /** From the table of those that are open. */
  readonly remove: (session: HttpSession) => void;
  readonly caught: Caught;
}

/** So often the store is asked again that could not be read, and a session whose calls have to end. */
const againMs = 1_000;
/** A client that was disconnected while a call ran comes back for its answer within this time. */
const answerMs = 30_000;

export class DoubtedSessions implements Disposable {
  readonly #parts: DoubtedSessionsParts;
  /** How many doubts there were when it was last known to be ours; each as long as its session is. */
  readonly #known = new WeakMap<HttpSession, number>();
  /** Those of other replicas, with when a call of theirs last ran; each until its calls have ended, and `answerMs` longer. */
  readonly #leaving = new Map<HttpSession, number>();
  readonly #subscription: Disposable;
  #doubts = 0;
  /** The latest doubt that is no mere possibility: another replica has said so. */
  #told = 0;
  #isLooking = false;
  #isClosed = false;
  #timer: Disposable | undefined;

  constructor(parts: DoubtedSessionsParts) {
    this.#parts = parts;
    this.#subscription = parts.peers.onDoubt((why) => this.#doubt(why));
  }

  opened(session: HttpSession): void {
    this.#known.set(session, this.#doubts);
  }

  isDoubted(session: HttpSession): boolean {
    return this.#known.get(session) !== this.#doubts;
  }

  /** One of this id that another replica has, and whose calls may run here. */
  leaving(id: string): HttpSession | undefined {
    return [...this.#leaving.keys()].findLast((session) => session.id === id);
  }

  /**
   * The session, if it is ours; otherwise it is let go. While the store cannot be read, it is used as it was while the
   * bus was lost, unless another replica has said that it took something over.
   */
  async find(session: HttpSession): Promise<HttpSession | Elsewhere | 'unavailable' | undefined> {
    const found = await this.#look(session);
    const isTold = (this.#known.get(session) ?? 0) < this.#told;
    return found === 'unavailable' && !isTold && !session.isClosed ? session : found;
  }

  async #look(session: HttpSession): Promise<HttpSession | Elsewhere | 'unavailable' | undefined> {
    const { kept } = this.#parts;
    while (this.isDoubted(session)) {
      const doubts = this.#doubts;
      const found = await kept.look(session.id, session.principal, session.setup);
      if (found === 'unavailable') return found;
      if (found !== 'ours') {
        this.letGo(session);
        return found;
      }
      this.#known.set(session, doubts);
    }
    return session;
  }

  /** The access of these principals has ended, by id. */
  endAccess(ids: ReadonlySet<string>): void {
    for (const session of [...this.#leaving.keys()]) {
      if (!ids.has(ownerOf(session.principal).id)) continue;
      this.#leaving.delete(session);
      session.endAccess();
    }
  }

  #doubt(why: Doubt): void {
    this.#doubts += 1;
    if (why === 'told') this.#told = this.#doubts;
    if (this.#isLooking || this.#isClosed) return;
    this.#isLooking = true;
    this.#lookAtAll()
      .finally(() => {
        this.#isLooking = false;
      })
      .catch(this.#parts.caught);
  }

  /** Until none is doubted. */
  async #lookAtAll(): Promise<void> {
    for (;;) {
      const doubted = this.#parts.sessions().filter((one) => this.isDoubted(one));
      if (doubted.length === 0 || this.#isClosed) return;
      for (const session of doubted) {
        if ((await this.#look(session)) !== 'unavailable') continue;
        await new Promise<void>((resolve) => void this.#parts.clock.after(againMs, resolve, true));
        break;
      }
    }
  }

  /** Another replica has it, or it has ended there. */
  letGo(session: HttpSession): void {
    this.#parts.remove(session);
    if (session.isClosed) return;
    if (!this.#parts.peers.isOneMachine) session.former = undefined;
    session.stopListening();
    this.#leaving.set(session, Number.NEGATIVE_INFINITY);
    this.#closeQuiet();
  }

  #closeQuiet(): void {
    this.#timer?.[Symbol.dispose]();
    const now = this.#parts.clock.now();
    for (const [session, ranAt] of [...this.#leaving]) {
      if (session.isWorking) this.#leaving.set(session, now);
      if (session.isBusy || now - ranAt < answerMs) continue;
      // Whoever had it before this process is reached by way of it.
      if (session.former !== undefined) continue;
      this.#leaving.delete(session);
      session.close();
    }
    if (this.#leaving.size === 0) return;
    this.#timer = this.#parts.clock.after(againMs, () => this.#closeQuiet(), true);
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#subscription[Symbol.dispose]();
    this.#timer?.[Symbol.dispose]();
    for (const session of this.#leaving.keys()) session.close();
    this.#leaving.clear();
  }
}
