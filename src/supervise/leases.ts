// Runs the lease machine: it counts the holders of one server, keeps the labels of the named ones
// for status, and runs the keep-alive timer. Other code decides what happens to an idle server.

import type { Clock } from '../kernel/clock.ts';
import {
  isWanted,
  type LeaseEvent,
  type LeaseState,
  leaseStep,
  noLeases,
} from './lease-machine.ts';

/** A named hold on a server. Releasing twice is the same as once. */
export interface Lease extends AsyncDisposable {
  /** The server that is kept running. */
  readonly server: string;
  /** The owner, as shown in `status`. */
  readonly owner: string;
  /** Releases it; the server is stopped when it has been unused for `keepAliveMs`. */
  release(): void;
}

export interface HandedLeases {
  readonly pinned: boolean;
  readonly idleMs: number | null;
}

export class Leases {
  readonly #clock: Clock;
  #keepAliveMs: number;
  readonly #unwanted: () => void;
  /** Named leases, until they are released. */
  readonly #owners = new Map<symbol, string>();
  #state: LeaseState = noLeases;
  #timer: Disposable | undefined;
  #hasEnded = false;
  /** Holders beyond the first: only the first and the last matter to the machine. */
  #others = 0;

  constructor(clock: Clock, keepAliveMs: number, unwanted: () => void) {
    this.#clock = clock;
    this.#keepAliveMs = keepAliveMs;
    this.#unwanted = unwanted;
  }

  get isWanted(): boolean {
    return isWanted(this.#state);
  }

  get isPinned(): boolean {
    return this.#state.pinned;
  }

  get held(): number {
    return this.#state.held + this.#others;
  }

  /** When the last holder released it; null while it is held or was never used. */
  get idleSince(): number | null {
    return this.#state.idleSince;
  }

  get owners(): readonly string[] {
    return [...this.#owners.values()];
  }

  /** Holds the server for one call. Every `hold` needs one `release`. */
  hold(): void {
    if (this.#state.held > 0) this.#others += 1;
    else this.#dispatch({ kind: 'taken' });
  }

  release(): void {
    if (this.#others > 0) this.#others -= 1;
    else this.#dispatch({ kind: 'released', at: this.#clock.now() });
  }

  /** Turns a hold that was taken before into a named lease. */
  name(server: string, owner: string): Lease {
    const key = Symbol(owner);
    this.#owners.set(key, owner);
    const release = () => {
      if (this.#owners.delete(key)) this.release();
    };
    return {
      server,
      owner,
      release,
      [Symbol.asyncDispose]: () => Promise.resolve(release()),
    };
  }

  pin(pinned: boolean): void {
    if (pinned !== this.#state.pinned) {
      this.#dispatch({ kind: 'pinned', pinned, at: this.#clock.now() });
    }
  }

  /** For the process after this one: whether it is kept, and since when nobody uses it; null: somebody does. */
  get written(): HandedLeases {
    const { pinned, idleSince } = this.#state;
    return { pinned, idleMs: idleSince === null ? null : this.#clock.now() - idleSince };
  }

  /** As it was in the process before this one; who still uses it there has to hold it here before. */
  restore({ pinned, idleMs }: HandedLeases): void {
    const { held } = this.#state;
    const idleSince = pinned || held > 0 ? null : this.#clock.now() - (idleMs ?? 0);
    this.#state = { pinned, held, idleSince };
    this.#dispatch({ kind: 'elapsed', at: this.#clock.now() });
  }

  /** Changes the keep-alive time; the idle time so far counts. */
  keepFor(keepAliveMs: number): void {
    if (keepAliveMs === this.#keepAliveMs) return;
    this.#keepAliveMs = keepAliveMs;
    if (!this.#timer) return;
    this.#timer[Symbol.dispose]();
    this.#timer = undefined;
    this.#dispatch({ kind: 'elapsed', at: this.#clock.now() });
  }

  end(): void {
    this.#hasEnded = true;
    this.#timer?.[Symbol.dispose]();
  }

  #dispatch(event: LeaseEvent): void {
    const [state, effects] = leaseStep(this.#state, event, { keepAliveMs: this.#keepAliveMs });
    this.#state = state;
    for (const effect of effects) {
      if (effect.kind === 'unwanted') this.#unwanted();
      else this.#wake(effect.afterMs);
    }
  }

  // One timer, never moved: when it fires, the machine says how much time is left. Setting and
  // cancelling one for every call would cost more than the rest of a call's bookkeeping.
  #wake(afterMs: number): void {
    if (this.#timer || this.#hasEnded) return;
    const fire = () => {
      this.#timer = undefined;
      this.#dispatch({ kind: 'elapsed', at: this.#clock.now() });
    };
    this.#timer = this.#clock.after(afterMs, fire, true);
  }
}
