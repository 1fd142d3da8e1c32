// Which connection serves which client. A modern connection serves everybody, because what a client
// can do travels with each request. A legacy one was greeted for one class of clients: another class
// joins it only if the server is known to treat classes alike and the greeting covers that class. A
// server that asks "the client" back, where nobody can tell which one it means, has one connection for
// each client from then on. `isolation` can force one connection for all, or one for each client. A
// client that can be asked only inside a call (modern) then gets a free connection for every call that
// runs at the same time, so that a question belongs to exactly one.

import type { ServerConfig } from '../../config/schema.ts';
import { Fault } from '../../kernel/fault.ts';
import type { Connection } from '../../upstream/connection.ts';
import type { Era } from '../../wire/eras.ts';
import type { Catalogue } from '../lists/catalogue.ts';
import type { Facts } from '../servers/server-facts.ts';
import type { Caller, Client } from './caller.ts';
import {
  bareClass,
  type ClientClass,
  classOf,
  covers,
  distance,
  everyClass,
  unionOf,
} from './client-class.ts';
import type { Aim, ConnectionSlot } from './connection-slot.ts';
import { type Watch, type Watcher, Watches } from './watches.ts';

/** At most so many connections for the concurrent calls of one client; beyond that they share. */
const maxPerClient = 8;
/** At most so many shared connections, whatever classes clients declare; beyond that the nearest is used. */
const maxShared = 6;
/** Remembered decisions; forgotten together when something changes. */
const maxChoices = 64;

export interface SlotsParts {
  readonly isolation: ServerConfig['isolation'];
  /** Can its clients be asked at all? If not, a legacy server is told so. */
  readonly hasClients: boolean;
  /** What is known of the server now. */
  readonly facts: () => Facts;
  readonly make: (owner: string | null, aim: Aim) => ConnectionSlot;
}

export class ConnectionSlots {
  readonly #parts: SlotsParts;
  /** At most maxShared, and one more for each client whose own one of them has become, until it has ended. */
  readonly #shared: ConnectionSlot[];
  /** By client, at most maxPerClient each; ended when the client is gone. */
  readonly #own = new Map<string, ConnectionSlot[]>();
  readonly #watches = new Watches();
  /** Where clients of an era and class go; bounded by maxChoices. */
  readonly #choices = new Map<string, ConnectionSlot>();
  #current: ConnectionSlot;
  #isPinned = false;
  #asks = false;
  #isEnded = false;

  constructor(parts: SlotsParts) {
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
  get current(): ConnectionSlot {
    if (this.#current.supervisor.connection) return this.#current;
    for (const slot of this.all()) if (slot.supervisor.connection) return slot;
    return this.#current;
  }

  *all(): Iterable<ConnectionSlot> {
    yield* this.#shared;
    for (const slots of this.#own.values()) yield* slots;
  }

  /** Is there any connection that takes calls? */
  get isConnected(): boolean {
    for (const slot of this.all()) if (isLive(slot)) return true;
    return false;
  }

  /** Where this call goes. */
  for(caller: Caller | undefined): ConnectionSlot {
    if (this.#isEnded) throw endedFault();
    if (caller === undefined)
      return this.#own.size > 0 || this.#asks ? this.#forNobody() : this.current;
    if (this.#parts.isolation === 'shared') return this.current;
    const { client } = caller;
    // What is still done for a client that is gone must not make a connection for it.
    if (client.isGone) return this.#forNobody();
    const era = this.#eraFor(client);
    const slot = this.#isApart(era)
      ? this.#ownSlot(client, { era, clients: classOf(caller.capabilities) })
      : this.#chosen(era, caller.capabilities);
    if (!client.isAskedInCalls) slot.wished = 'legacy';
    this.#current = slot;
    return slot;
  }

  /** Who cannot be asked must not use the connection of a client that is: a question would have no owner. */
  #forNobody(): ConnectionSlot {
    const open = this.#open;
    const slot = open.find(({ supervisor }) => supervisor.connection) ?? open[0];
    return slot ?? this.#aimed({ era: this.#current.aim.era, clients: bareClass });
  }

  /** Has this place become another client's since this call was sent to it? Then it is not for this call. */
  isTaken({ owner, isSpent }: ConnectionSlot, caller: Caller | undefined): boolean {
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
  aimOf({ client, capabilities }: Watcher): Aim {
    if (this.#parts.isolation === 'shared') return this.current.aim;
    return { era: this.#eraFor(client), clients: classOf(capabilities) };
  }

  /** The client's own era, unless the server is known not to speak it. */
  #eraFor({ isAskedInCalls }: Client): Era {
    const { modern, legacy } = this.#parts.facts();
    if (isAskedInCalls) return modern === false ? 'legacy' : 'modern';
    return legacy === false ? 'modern' : 'legacy';
  }

  // --- shared by clients of a class --------------------------------------------------------

  #chosen(era: Era, capabilities: string): ConnectionSlot {
    const key = era === 'modern' ? era : classOf(capabilities).key;
    const known = this.#choices.get(key);
    if (known) return known;
    const slot = this.#choose({ era, clients: classOf(capabilities) });
    if (this.#choices.size >= maxChoices) this.#choices.clear();
    this.#choices.set(key, slot);
    return slot;
  }

  #choose(aim: Aim): ConnectionSlot {
    const sameEra = this.#open.filter((slot) => this.#eraOf(slot) === aim.era);
    const inUse = sameEra.filter((slot) => !slot.isFree);
    const [first] = [...inUse.filter(isLive), ...inUse].filter(
      (slot) => !slot.isDuplicate && this.#serves(slot, aim.clients),
    );
    if (first) return first;
    const isAlike = aim.era === 'legacy' && this.#parts.facts().classes === 'alike';
    const clients = isAlike
      ? unionOf([aim.clients, ...sameEra.map((slot) => slot.aim.clients)])
      : aim.clients;
    return this.#aimed({ era: aim.era, clients });
  }

  /** Of one that is being started, the era it will have to speak by what has become known meanwhile. */
  #eraOf({ aim, supervisor }: ConnectionSlot): Era {
    if (supervisor.connection) return aim.era;
    const { modern, legacy } = this.#parts.facts();
    if (aim.era === 'modern') return modern === false ? 'legacy' : 'modern';
    return legacy === false ? 'modern' : 'legacy';
  }

  /** Those that clients may share; one whose client is gone ends, and nobody else uses it. */
  get #open(): readonly ConnectionSlot[] {
    return this.#shared.filter(({ owner, isSpent }) => owner === null && !isSpent);
  }

  /** May clients of this class use a connection that was, or will be, made as this slot is aimed? */
  #serves(slot: ConnectionSlot, clients: ClientClass): boolean {
    const { aim } = slot;
    if (this.#eraOf(slot) === 'modern' || aim.clients.key === clients.key) return true;
    return this.#parts.facts().classes === 'alike' && covers(aim.clients, clients);
  }

  /** One that nobody uses is aimed anew before another is made. */
  #aimed(aim: Aim): ConnectionSlot {
    const free = this.#open.find((slot) => slot.isFree);
    if (free) {
      free.aim = aim;
      free.wished = aim.era;
      free.isDuplicate = false;
      this.#choices.clear();
      return free;
    }
    if (this.#open.length >= maxShared) return this.#nearest(aim);
    const slot = this.#parts.make(null, aim);
    this.#shared.push(slot);
    return slot;
  }

  #nearest({ era, clients }: Aim): ConnectionSlot {
    const apart = (slot: ConnectionSlot) =>
      distance(slot.aim.clients, clients) + (slot.aim.era === era ? 0 : 1_000);
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
    for (const slot of this.all()) {
      if (slot.catalogue === catalogue && slot.supervisor.phase.kind !== 'idle') return true;
    }
    return false;
  }

  /** A connection was made: another one may no longer be needed. */
  connected(slot: ConnectionSlot): void {
    slot.isDuplicate = false;
    if (this.#isPinned && slot.owner !== null) this.#keepOwn(slot);
    this.changed();
  }

  /** Something is known now that was not known before, or is no longer as it was. */
  changed(): void {
    this.#choices.clear();
    for (const slot of this.#open) {
      slot.isDuplicate = isLive(slot) && this.#isCovered(slot);
      if (slot.isDuplicate) this.settle(slot);
    }
  }

  /**
   * Of two that serve the same clients the one that covers more stays, or else the older one. One that was
   * made in the other era for want of a better is not needed when there is one of the right era.
   */
  #isCovered(slot: ConnectionSlot): boolean {
    return this.#open.some((other, place) => {
      if (other === slot || !isLive(other) || other.isDuplicate) return false;
      if (slot.wished === 'modern' && slot.aim.era !== other.aim.era)
        return other.aim.era === 'modern';
      if (other.aim.era !== slot.aim.era || !this.#serves(other, slot.aim.clients)) return false;
      const isMutual = this.#serves(slot, other.aim.clients);
      return !isMutual || place < this.#open.indexOf(slot);
    });
  }

  /** A call has left: a connection that was kept only for it ends. */
  settle(slot: ConnectionSlot): void {
    if (!slot.isDuplicate && !slot.isSpent) return;
    const { leases } = slot.supervisor;
    if (this.#isPinned && leases.isPinned) this.#movePin(slot);
    if (!leases.isWanted) slot.supervisor.evict();
  }

  /** Keeps one connection of the server for good, or no longer. */
  pin(isPinned: boolean): void {
    this.#isPinned = isPinned;
    for (const slot of this.all()) if (!isPinned) slot.supervisor.leases.pin(false);
    if (isPinned) this.current.supervisor.leases.pin(true);
  }

  /** Where each client has its own, the one that was started with the host is used by nobody: it ends. */
  #keepOwn(own: ConnectionSlot): void {
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

  #movePin(from: ConnectionSlot): void {
    const stays = this.#open.find(
      (slot) => slot !== from && !slot.isDuplicate && slot.supervisor.connection,
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
    for (const slot of this.#open) {
      const client = slot.onlyClient;
      // A client that is gone would never give it back.
      if (client && !client.isGone) slot.owner = client.key;
    }
    this.#adopted(this.#shared.filter(({ owner }) => owner !== null));
    return true;
  }

  /** These have become their clients' own: what others watch there is watched elsewhere. */
  #adopted(slots: readonly ConnectionSlot[]): void {
    this.#choices.clear();
    for (const slot of slots) this.#watches.slotAdded(slot.owner ?? '', slot);
    for (const slot of slots) for (const watch of this.#watches.foreignOn(slot)) this.#move(watch);
  }

  /**
   * The server is about to be told what is for this client's calls only: from now on nobody else uses the
   * connection. False if that cannot be, because another has used it already or the client is gone.
   */
  keepFor(slot: ConnectionSlot, connection: Connection, client: Client): boolean {
    const { key } = client;
    if (client.isGone || slot.isSpent || slot.onlyClientOf(connection)?.key !== key) return false;
    if (slot.owner === null && this.#parts.isolation === 'auto') {
      slot.owner = key;
      this.#adopted([slot]);
    }
    // Where the operator wants one connection for all, it is the first one's as it was.
    return slot.owner === key || slot.owner === null;
  }

  /** Does each client have its own? */
  #isApart(era: Era): boolean {
    const { isolation } = this.#parts;
    return isolation === 'client' || (isolation === 'auto' && this.#asks && era === 'legacy');
  }

  #ownSlot(client: Client, aim: Aim): ConnectionSlot {
    const { key, isAskedInCalls } = client;
    const all = this.#slotsOf(key);
    if (!isAskedInCalls) return all[0] ?? this.#add(key, aim);
    // The calls of one principal may come from programs that can do different things.
    const slots = all.filter((slot) => slot.aim.era === aim.era && this.#serves(slot, aim.clients));
    const [first] = slots;
    if (aim.era === 'modern' && first) return first;
    const free = slots.find((slot) => slot.inFlight === 0);
    if (free) return free;
    const unused = all.find((slot) => slot.isFree);
    if (unused) {
      unused.aim = aim;
      return unused;
    }
    return all.length < maxPerClient ? this.#add(key, aim) : (first ?? all[0] ?? this.current);
  }

  #slotsOf(key: string): readonly ConnectionSlot[] {
    const adopted = this.#shared.filter(({ owner }) => owner === key);
    const own = this.#own.get(key) ?? [];
    return adopted.length === 0 ? own : [...adopted, ...own];
  }

  #add(key: string, aim: Aim): ConnectionSlot {
    const slot = this.#parts.make(key, aim);
    this.#watches.slotAdded(key, slot);
    this.#own.set(key, [...(this.#own.get(key) ?? []), slot]);
    return slot;
  }

  /** Those that this client alone uses. */
  usedOnlyBy(key: string): readonly ConnectionSlot[] {
    return [...this.all()].filter((slot) => {
      const { connection } = slot.supervisor;
      return slot.owner === key || (connection && slot.onlyClientOf(connection)?.key === key);
    });
  }

  /** The client is gone: what was its own ends. */
  async release(key: string): Promise<void> {
    for (const slot of this.#shared) {
      if (slot.owner !== key) continue;
      slot.owner = null;
      // It has been told of this client: it serves nobody else.
      slot.spend();
      this.settle(slot);
    }
    const slots = this.#own.get(key) ?? [];
    this.#own.delete(key);
    if (slots.includes(this.#current)) this.#current = this.#shared[0] ?? this.#current;
    if (slots.length > 0) this.#keepShared();
    await Promise.all(slots.map(({ supervisor }) => supervisor.end()));
  }

  /** For good: whoever still comes for a connection is turned away. */
  async endAll(): Promise<void> {
    this.#isEnded = true;
    await Promise.all([...this.all()].map(({ supervisor }) => supervisor.end()));
  }

  // --- watching ----------------------------------------------------------------------------

  /**
   * Watches a resource for a client, where its calls go, and on every connection it will have. The
   * result ends it. Rejects with the server's own error, or a Fault.
   */
  async watch(caller: Caller, uri: string): Promise<() => void> {
    const { client, capabilities } = caller;
    if (client.isGone) throw new Fault('cancelled', 'the client is gone');
    if (this.#isEnded) throw endedFault();
    const aim = this.aimOf(caller);
    const slot = this.#isApart(aim.era) ? this.#firstOf(client.key, aim) : this.for(caller);
    await slot.subscriptions.watch(uri);
    const watcher = { client, capabilities };
    const watch = this.#watches.begin(watcher, uri, slot, this.#slotsOf(client.key));
    // While the server was asked, it may have become another client's.
    if (this.isTaken(slot, caller)) this.#move(watch);
    return () => this.#watches.end(watch);
  }

  /** To a slot of its client's own. The watches of a client that is gone, or of a server, end where they are. */
  #move(watch: Watch): void {
    const { watcher } = watch;
    if (this.#isEnded || watcher.client.isGone) return;
    this.#watches.move(watch, this.#firstOf(watcher.client.key, this.aimOf(watcher)));
  }

  #firstOf(key: string, aim: Aim): ConnectionSlot {
    return this.#slotsOf(key)[0] ?? this.#add(key, aim);
  }
}

function endedFault(): Fault {
  return new Fault('unavailable', 'the server has been stopped or replaced; try again');
}

/** Is there a connection that takes calls? One that has ended stays for a moment, until its end is noted. */
function isLive({ supervisor }: ConnectionSlot): boolean {
  return supervisor.connection !== undefined && !supervisor.connection.isLost;
}
