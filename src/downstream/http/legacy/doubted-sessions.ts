// Sessions that are open here and that another replica may have taken over, because this one could not be reached or
// stood still: each is looked up in the store again before it is used, and all are soon. One that another replica has
// is let go: its streams end, so that its client comes again and is passed on, and calls that run here may end here.

import type { Clock } from '../../../kernel/clock.ts';
import type { Caught } from '../../../kernel/contain.ts';
import { ownerOf } from '../../../policy/principal.ts';
import type { Elsewhere, Peers } from '../replicas/peers.ts';
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

export class DoubtedSessions implements Disposable {
  readonly #parts: DoubtedSessionsParts;
  /** How many doubts there were when it was last known to be ours; each as long as its session is. */
  readonly #known = new WeakMap<HttpSession, number>();
  /** Those of other replicas, each until its calls here have ended. */
  readonly #leaving = new Set<HttpSession>();
  readonly #subscription: Disposable;
  #doubts = 0;
  #isLooking = false;
  #isClosed = false;
  #timer: Disposable | undefined;

  constructor(parts: DoubtedSessionsParts) {
    this.#parts = parts;
    this.#subscription = parts.peers.onDoubt(() => this.#doubt());
  }

  opened(session: HttpSession): void {
    this.#known.set(session, this.#doubts);
  }

  isDoubted(session: HttpSession): boolean {
    return this.#known.get(session) !== this.#doubts;
  }

  /** The session, if it is ours; otherwise it is let go. */
  async look(session: HttpSession): Promise<HttpSession | Elsewhere | 'unavailable' | undefined> {
    const { kept } = this.#parts;
    while (this.isDoubted(session)) {
      const doubts = this.#doubts;
      const found = await kept.look(session.id, session.principal, session.setup);
      if (found === 'unavailable') return found;
      if (found !== 'ours') {
        this.#letGo(session);
        return found;
      }
      this.#known.set(session, doubts);
    }
    return session;
  }

  /** The access of these principals has ended, by id. */
  endAccess(ids: ReadonlySet<string>): void {
    for (const session of [...this.#leaving]) {
      if (!ids.has(ownerOf(session.principal).id)) continue;
      this.#leaving.delete(session);
      session.endAccess();
    }
  }

  #doubt(): void {
    this.#doubts += 1;
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
        if ((await this.look(session)) !== 'unavailable') continue;
        await new Promise<void>((resolve) => void this.#parts.clock.after(againMs, resolve, true));
        break;
      }
    }
  }

  #letGo(session: HttpSession): void {
    this.#parts.remove(session);
    if (session.isClosed) return;
    session.stopListening();
    this.#leaving.add(session);
    this.#closeQuiet();
  }

  #closeQuiet(): void {
    this.#timer?.[Symbol.dispose]();
    for (const session of [...this.#leaving]) {
      if (session.isBusy) continue;
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
    for (const session of this.#leaving) session.close();
    this.#leaving.clear();
  }
}
