// Who sits where: one connection for everybody as long as a server treats its clients alike, and
// one for each client once it asks "the client" back, because an answer must come from the one it
// is about. `isolation` says which; "auto" begins shared and remembers, beyond restarts, that the
// server has asked. A client that can be asked only inside a call (modern) gets a free connection
// for every call that runs at the same time, so that a question belongs to exactly one.

import type { ServerConfig } from '../config/schema.ts';
import type { Caller } from './caller.ts';
import type { Seat } from './seat.ts';

/** At most so many connections for the concurrent calls of one client; beyond that they share. */
const maxPerClient = 8;

export class Seats {
  readonly shared: Seat;
  readonly #isolation: ServerConfig['isolation'];
  readonly #make: (owner: string | null) => Seat;
  /** Resources that clients watch, by client. */
  readonly #watches = new Map<string, string[]>();
  readonly #own = new Map<string, Seat[]>();
  /** The client that the shared one was given to when the server first asked. */
  #sharedBelongsTo: string | undefined;
  #asks = false;

  constructor(isolation: ServerConfig['isolation'], make: (owner: string | null) => Seat) {
    this.#isolation = isolation;
    this.shared = make(null);
    this.#make = make;
  }

  /** Is it known that this server asks its clients back? */
  get asks(): boolean {
    return this.#asks;
  }

  *all(): Iterable<Seat> {
    yield this.shared;
    for (const seats of this.#own.values()) yield* seats;
  }

  /** The server asks its clients: from now on each has its own. True if that is news. */
  foundAsking(): boolean {
    if (this.#asks) return false;
    this.#asks = true;
    if (this.#isolation === 'auto')
      this.#sharedBelongsTo = this.shared.onlyClientOf(this.shared.supervisor.connection)?.key;
    return true;
  }

  /** Where this call goes. */
  for(caller: Caller | undefined): Seat {
    if (caller === undefined || !this.#areApart) return this.shared;
    const { key, isAskedInCalls } = caller.client;
    const seats = this.#seatsOf(key);
    if (!isAskedInCalls) return seats[0] ?? this.#add(key);
    const free = seats.find((seat) => seat.inFlight === 0);
    if (free) return free;
    return seats.length < maxPerClient ? this.#add(key) : (seats[0] ?? this.shared);
  }

  /** Those that this client alone uses. */
  usedOnlyBy(key: string): readonly Seat[] {
    return [...this.all()].filter((seat) => {
      const { connection } = seat.supervisor;
      return seat.owner === key || (connection && seat.onlyClientOf(connection)?.key === key);
    });
  }

  /** Does each client have its own? */
  get #areApart(): boolean {
    return this.#isolation === 'client' || (this.#isolation === 'auto' && this.#asks);
  }

  /** The client is gone: what was its own ends. */
  async release(key: string): Promise<void> {
    const seats = this.#own.get(key) ?? [];
    this.#own.delete(key);
    await Promise.all(seats.map(({ supervisor }) => supervisor.end()));
  }

  async endAll(): Promise<void> {
    await Promise.all([...this.all()].map(({ supervisor }) => supervisor.end()));
  }

  // --- watching ----------------------------------------------------------------------------

  /**
   * Watches a resource for a client, where its calls go, and on every connection it will have. The
   * result ends it. Rejects with the server's own error, or a Fault.
   */
  async watch(key: string, uri: string): Promise<() => void> {
    const seat = this.#areApart ? (this.#seatsOf(key)[0] ?? this.#add(key)) : this.shared;
    await seat.subscriptions.watch(uri);
    const watched = this.#watches.get(key) ?? [];
    this.#watches.set(key, [...watched, uri]);
    for (const other of this.#seatsOf(key)) if (other !== seat) other.subscriptions.wish(uri);
    return () => {
      seat.subscriptions.unwatch(uri);
      for (const other of this.#seatsOf(key)) if (other !== seat) other.subscriptions.unwish(uri);
      this.#unwatched(key, uri);
    };
  }

  #unwatched(key: string, uri: string): void {
    const watched = [...(this.#watches.get(key) ?? [])];
    watched.splice(watched.indexOf(uri), 1);
    if (watched.length > 0) this.#watches.set(key, watched);
    else this.#watches.delete(key);
  }

  #seatsOf(key: string): readonly Seat[] {
    const own = this.#own.get(key) ?? [];
    return this.#sharedBelongsTo === key ? [this.shared, ...own] : own;
  }

  #add(key: string): Seat {
    const seat = this.#make(key);
    for (const uri of this.#watches.get(key) ?? []) seat.subscriptions.wish(uri);
    this.#own.set(key, [...(this.#own.get(key) ?? []), seat]);
    return seat;
  }
}
