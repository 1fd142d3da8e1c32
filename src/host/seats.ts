// Which connection serves which client. A modern connection serves everybody, because what a client
// can do travels with each request. A legacy one was greeted for one class of clients: another class
// joins it only if the server is known to treat classes alike and the greeting covers that class. A
// server that asks "the client" back, where nobody can tell which one it means, has one connection for
// each client from then on. `isolation` can force one connection for all, or one for each client. A
// client that can be asked only inside a call (modern) then gets a free connection for every call that
// runs at the same time, so that a question belongs to exactly one.

import type { ServerConfig } from '../config/schema.ts';
import { Fault } from '../kernel/fault.ts';
import type { Era } from '../wire/eras.ts';
import type { Caller, Client } from './caller.ts';
import type { Catalogue } from './catalogue.ts';
import {
  bareClass,
  type ClientClass,
  classOf,
  covers,
  distance,
  everyClass,
  unionOf,
} from './client-class.ts';
import type { Aim, Seat } from './seat.ts';
import type { Facts } from './server-facts.ts';

/** At most so many connections for the concurrent calls of one client; beyond that they share. */
const maxPerClient = 8;
/** At most so many shared connections, whatever classes clients declare; beyond that the nearest is used. */
const maxShared = 6;
/** Remembered decisions; forgotten together when something changes. */
const maxChoices = 64;

export interface SeatsParts {
  readonly isolation: ServerConfig['isolation'];
  /** Can its clients be asked at all? If not, a legacy server is told so. */
  readonly hasClients: boolean;
  /** What is known of the server now. */
  readonly facts: () => Facts;
  readonly make: (owner: string | null, aim: Aim) => Seat;
}

export class Seats {
  readonly #parts: SeatsParts;
  /** At most maxShared, and as many again that have become one client's own. */
  readonly #shared: Seat[];
  /** By client, at most maxPerClient each; ended when the client is gone. */
  readonly #own = new Map<string, Seat[]>();
  /** Resources that clients watch, by client; gone with the last watch of each. */
  readonly #watches = new Map<string, string[]>();
  /** Where clients of an era and class go; bounded by maxChoices. */
  readonly #choices = new Map<string, Seat>();
  #current: Seat;
  #isPinned = false;
  #asks = false;

  constructor(parts: SeatsParts) {
    this.#parts = parts;
    const clients = parts.isolation === 'shared' && parts.hasClients ? everyClass : bareClass;
    // Which era it speaks is found out by the modern probe unless a legacy client comes first.
    this.#current = parts.make(null, { era: 'modern', clients });
    this.#shared = [this.#current];
  }

  /** Is it known that this server asks its clients back? */
  get asks(): boolean {
    return this.#asks;
  }

  /** The one that was used last: for whoever cannot be asked, and for status. */
  get current(): Seat {
    if (this.#current.supervisor.connection) return this.#current;
    for (const seat of this.all()) if (seat.supervisor.connection) return seat;
    return this.#current;
  }

  *all(): Iterable<Seat> {
    yield* this.#shared;
    for (const seats of this.#own.values()) yield* seats;
  }

  /** Is there any connection that takes calls? */
  get isConnected(): boolean {
    for (const seat of this.all()) if (isLive(seat)) return true;
    return false;
  }

  /** Where this call goes. */
  for(caller: Caller | undefined): Seat {
    if (caller === undefined)
      return this.#own.size > 0 || this.#asks ? this.#forNobody() : this.current;
    if (this.#parts.isolation === 'shared') return this.current;
    const { client } = caller;
    // What is still done for a client that is gone must not make a connection for it.
    if (client.isGone) return this.#forNobody();
    const era = this.#eraFor(client);
    const seat = this.#isApart(era)
      ? this.#ownSeat(client, { era, clients: classOf(caller.capabilities) })
      : this.#chosen(era, caller.capabilities);
    if (!client.isAskedInCalls) seat.wished = 'legacy';
    this.#current = seat;
    return seat;
  }

  /** Who cannot be asked must not use the connection of a client that is: a question would have no owner. */
  #forNobody(): Seat {
    const open = this.#open.filter(({ isSpent }) => !isSpent);
    const seat = open.find(({ supervisor }) => supervisor.connection) ?? open[0];
    return seat ?? this.#aimed({ era: this.#current.aim.era, clients: bareClass });
  }

  /** Has this place become another client's since this call was sent to it? Then it is not for this call. */
  isTaken({ owner, isSpent }: Seat, caller: Caller | undefined): boolean {
    return isSpent || (owner !== null && owner !== caller?.client.key);
  }

  /** The same text for callers to whom the server says the same. */
  audienceOf(caller: Caller): string {
    const { era, clients } = this.aimOf(caller);
    const own = classOf(caller.capabilities).key;
    if (this.#isApart(era)) return `client ${caller.client.key} ${era} ${own}`;
    // There each request says what its client can do, whoever shares the connection.
    if (era === 'modern') return `modern ${own}`;
    return this.#parts.facts().classes === 'alike' ? 'legacy' : `legacy ${clients.key}`;
  }

  /** The era and class of the connection that serves this client. */
  aimOf(caller: Caller): Aim {
    if (this.#parts.isolation === 'shared') return this.current.aim;
    return { era: this.#eraFor(caller.client), clients: classOf(caller.capabilities) };
  }

  /** The client's own era, unless the server is known not to speak it. */
  #eraFor({ isAskedInCalls }: Client): Era {
    const { modern, legacy } = this.#parts.facts();
    if (isAskedInCalls) return modern === false ? 'legacy' : 'modern';
    return legacy === false ? 'modern' : 'legacy';
  }

  // --- shared by clients of a class --------------------------------------------------------

  #chosen(era: Era, capabilities: string): Seat {
    const key = era === 'modern' ? era : classOf(capabilities).key;
    const known = this.#choices.get(key);
    if (known) return known;
    const seat = this.#choose({ era, clients: classOf(capabilities) });
    if (this.#choices.size >= maxChoices) this.#choices.clear();
    this.#choices.set(key, seat);
    return seat;
  }

  #choose(aim: Aim): Seat {
    const sameEra = this.#open.filter((seat) => this.#eraOf(seat) === aim.era);
    const inUse = sameEra.filter((seat) => !seat.isFree);
    const [first] = [...inUse.filter(isLive), ...inUse].filter(
      (seat) => !seat.isDuplicate && !seat.isSpent && this.#serves(seat, aim.clients),
    );
    if (first) return first;
    const isAlike = aim.era === 'legacy' && this.#parts.facts().classes === 'alike';
    const clients = isAlike
      ? unionOf([aim.clients, ...sameEra.map((seat) => seat.aim.clients)])
      : aim.clients;
    return this.#aimed({ era: aim.era, clients });
  }

  /** Of one that is being started, the era it will have to speak by what has become known meanwhile. */
  #eraOf({ aim, supervisor }: Seat): Era {
    if (supervisor.connection) return aim.era;
    const { modern, legacy } = this.#parts.facts();
    if (aim.era === 'modern') return modern === false ? 'legacy' : 'modern';
    return legacy === false ? 'modern' : 'legacy';
  }

  get #open(): readonly Seat[] {
    return this.#shared.filter(({ owner }) => owner === null);
  }

  /** May clients of this class use a connection that was, or will be, made as this seat is aimed? */
  #serves(seat: Seat, clients: ClientClass): boolean {
    const { aim } = seat;
    if (this.#eraOf(seat) === 'modern' || aim.clients.key === clients.key) return true;
    return this.#parts.facts().classes === 'alike' && covers(aim.clients, clients);
  }

  /** One that nobody uses is aimed anew before another is made. */
  #aimed(aim: Aim): Seat {
    const free = this.#open.find((seat) => seat.isFree);
    if (free) {
      free.aim = aim;
      free.wished = aim.era;
      free.isDuplicate = false;
      this.#choices.clear();
      return free;
    }
    if (this.#open.length >= maxShared) return this.#nearest(aim);
    const seat = this.#parts.make(null, aim);
    this.#shared.push(seat);
    return seat;
  }

  #nearest({ era, clients }: Aim): Seat {
    const apart = (seat: Seat) =>
      distance(seat.aim.clients, clients) + (seat.aim.era === era ? 0 : 1_000);
    const [nearest = this.#current] = this.#open.toSorted((a, b) => apart(a) - apart(b));
    return nearest;
  }

  // --- what becomes known ------------------------------------------------------------------

  /** What an earlier run knew: for whom to greet it when nobody in particular starts it. */
  recall(clients: ClientClass): void {
    const [first] = this.#shared;
    if (first?.isFree && this.#parts.isolation !== 'shared') first.aim = { ...first.aim, clients };
    this.#choices.clear();
  }

  /** Is there a connection, or one on its way, that this catalogue is read on? */
  isHeld(catalogue: Catalogue): boolean {
    for (const seat of this.all()) {
      if (seat.catalogue === catalogue && seat.supervisor.phase.kind !== 'idle') return true;
    }
    return false;
  }

  /** A connection was made: another one may no longer be needed. */
  connected(seat: Seat): void {
    seat.isDuplicate = false;
    if (this.#isPinned && seat.owner !== null) this.#keepOwn(seat);
    this.changed();
  }

  /** Something is known now that was not known before, or is no longer as it was. */
  changed(): void {
    this.#choices.clear();
    for (const seat of this.#open) {
      seat.isDuplicate = isLive(seat) && this.#isCovered(seat);
      if (seat.isDuplicate) this.settle(seat);
    }
  }

  /**
   * Of two that serve the same clients the one that covers more stays, or else the older one. One that was
   * made in the other era for want of a better is not needed when there is one of the right era.
   */
  #isCovered(seat: Seat): boolean {
    return this.#open.some((other, place) => {
      if (other === seat || !isLive(other)) return false;
      if (other.isDuplicate || other.isSpent) return false;
      if (seat.wished === 'modern' && seat.aim.era !== other.aim.era)
        return other.aim.era === 'modern';
      if (other.aim.era !== seat.aim.era || !this.#serves(other, seat.aim.clients)) return false;
      const isMutual = this.#serves(seat, other.aim.clients);
      return !isMutual || place < this.#open.indexOf(seat);
    });
  }

  /** A call has left: a connection that was kept only for it ends. */
  settle(seat: Seat): void {
    if (!seat.isDuplicate && !seat.isSpent) return;
    const { leases } = seat.supervisor;
    if (this.#isPinned && leases.isPinned) this.#movePin(seat);
    if (!leases.isWanted) seat.supervisor.evict();
  }

  /** Keeps one connection of the server for good, or no longer. */
  pin(isPinned: boolean): void {
    this.#isPinned = isPinned;
    for (const seat of this.all()) if (!isPinned) seat.supervisor.leases.pin(false);
    if (isPinned) this.current.supervisor.leases.pin(true);
  }

  /** Where each client has its own, the one that was started with the host is used by nobody: it ends. */
  #keepOwn(own: Seat): void {
    if (this.#parts.isolation !== 'client') return;
    own.supervisor.leases.pin(true);
    for (const { supervisor } of this.#open) {
      supervisor.leases.pin(false);
      supervisor.evict();
    }
  }

  /** The last client that had its own is gone: one connection is kept all the same. */
  #keepShared(): void {
    const [first] = this.#open;
    if (!first || this.#own.size > 0 || !this.#isPinned) return;
    first.supervisor.leases.pin(true);
    first.supervisor.want();
  }

  #movePin(from: Seat): void {
    const stays = this.#open.find(
      (seat) => seat !== from && !seat.isDuplicate && seat.supervisor.connection,
    );
    if (!stays) return;
    stays.supervisor.leases.pin(true);
    from.supervisor.leases.pin(false);
  }

  // --- one for each client -----------------------------------------------------------------

  /**
   * The server asks its clients and does not show which one it means: from now on each has its own.
   * A connection that only one client has used becomes its own. True if that is news.
   */
  foundAsking(): boolean {
    if (this.#asks) return false;
    this.#asks = true;
    if (this.#parts.isolation !== 'auto') return true;
    for (const seat of this.#shared) {
      const client = seat.onlyClient;
      if (client) seat.owner = client.key;
    }
    this.#choices.clear();
    return true;
  }

  /** Does each client have its own? */
  #isApart(era: Era): boolean {
    const { isolation } = this.#parts;
    return isolation === 'client' || (isolation === 'auto' && this.#asks && era === 'legacy');
  }

  #ownSeat(client: Client, aim: Aim): Seat {
    const { key, isAskedInCalls } = client;
    const all = this.#seatsOf(key);
    if (!isAskedInCalls) return all[0] ?? this.#add(key, aim);
    // The calls of one principal may come from programs that can do different things.
    const seats = all.filter((seat) => seat.aim.era === aim.era && this.#serves(seat, aim.clients));
    const [first] = seats;
    if (aim.era === 'modern' && first) return first;
    const free = seats.find((seat) => seat.inFlight === 0);
    if (free) return free;
    const unused = all.find((seat) => seat.isFree);
    if (unused) {
      unused.aim = aim;
      return unused;
    }
    return all.length < maxPerClient ? this.#add(key, aim) : (first ?? all[0] ?? this.current);
  }

  #seatsOf(key: string): readonly Seat[] {
    const adopted = this.#shared.filter(({ owner }) => owner === key);
    const own = this.#own.get(key) ?? [];
    return adopted.length === 0 ? own : [...adopted, ...own];
  }

  #add(key: string, aim: Aim): Seat {
    const seat = this.#parts.make(key, aim);
    for (const uri of this.#watches.get(key) ?? []) seat.subscriptions.wish(uri);
    this.#own.set(key, [...(this.#own.get(key) ?? []), seat]);
    return seat;
  }

  /** Those that this client alone uses. */
  usedOnlyBy(key: string): readonly Seat[] {
    return [...this.all()].filter((seat) => {
      const { connection } = seat.supervisor;
      return seat.owner === key || (connection && seat.onlyClientOf(connection)?.key === key);
    });
  }

  /** The client is gone: what was its own ends. */
  async release(key: string): Promise<void> {
    for (const seat of this.#shared) {
      if (seat.owner !== key) continue;
      seat.owner = null;
      // It has been told of this client: it serves nobody else.
      seat.spend();
      this.settle(seat);
    }
    const seats = this.#own.get(key) ?? [];
    this.#own.delete(key);
    if (seats.includes(this.#current)) this.#current = this.#shared[0] ?? this.#current;
    if (seats.length > 0) this.#keepShared();
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
  async watch(caller: Caller, uri: string): Promise<() => void> {
    const { key } = caller.client;
    if (caller.client.isGone) throw new Fault('cancelled', 'the client is gone');
    const aim = this.aimOf(caller);
    const seat = this.#isApart(aim.era)
      ? (this.#seatsOf(key)[0] ?? this.#add(key, aim))
      : this.for(caller);
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
}

/** Is there a connection that takes calls? One that has ended stays for a moment, until its end is noted. */
function isLive({ supervisor }: Seat): boolean {
  return supervisor.connection !== undefined && !supervisor.connection.isLost;
}
