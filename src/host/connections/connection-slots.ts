// Decides which connection serves which client. A modern connection serves all clients, because
// each request carries the client's capabilities. A legacy connection was opened for one class of
// clients: another class may use it only if the server is known to treat classes alike and the
// declared capabilities cover that class. A server that sends requests which cannot be assigned to
// a client has one connection for each client from then on. `isolation` can force one connection
// for all, or one for each client. A server that runs in the folders of its clients (folders-of-clients.ts)
// has connections of its own for each folder.

import type { ServerConfig } from '../../config/schema.ts';
import { Fault } from '../../kernel/fault.ts';
import type { Connection } from '../../upstream/connection.ts';
import type { Era } from '../../wire/eras.ts';
import type { Catalogue } from '../lists/catalogue.ts';
import { Aims } from './aims.ts';
import type { Caller, CallRoots, Client } from './caller.ts';
import { bareClass, type ClientClass, classOf, hasRoots } from './client-class.ts';
import { isIn } from './client-folder.ts';
import type { Aim, ConnectionSlot } from './connection-slot.ts';
import { FoldersOfClients, type FoldersParts } from './folders-of-clients.ts';
import { Isolation, type IsolationParts } from './isolation.ts';
import { makeRoomFor } from './own-room.ts';
import { OwnSlots } from './own-slots.ts';
import { PinnedSlot } from './pinned-slot.ts';
import { isLive, SharedSlots, type SharedSlotsParts } from './shared-slots.ts';
import { SlotChanges } from './slot-changes.ts';
import type { Watcher } from './watches.ts';
import { Watching } from './watching.ts';

export interface SlotsParts extends SharedSlotsParts, IsolationParts, FoldersParts {}

/** A slot as another process had it. */
export interface RestoredSlot {
  readonly isShared: boolean;
  readonly owner: string | null;
  readonly sharingOwner: string | undefined;
  readonly aim: Aim;
}

export class ConnectionSlots {
  /** Told when it may be decided differently where clients go. */
  readonly changes = new SlotChanges();
  readonly #parts: SlotsParts;
  readonly #isolation: Isolation;
  readonly #folders: FoldersOfClients;
  readonly #aims: Aims;
  readonly #shared: SharedSlots;
  readonly #own: OwnSlots;
  readonly #pinned: PinnedSlot;
  readonly #watching: Watching;
  #current: ConnectionSlot;
  /** The fault for callers once it has ended. */
  #ended: Fault | undefined;

  constructor(parts: SlotsParts) {
    this.#parts = parts;
    this.#isolation = new Isolation(parts);
    this.#folders = new FoldersOfClients(parts);
    // Its era is found out by the modern probe unless a legacy client comes first.
    this.#shared = new SharedSlots(parts, { era: 'modern', clients: this.#isolation.firstClass });
    this.#own = new OwnSlots({
      shared: this.#shared,
      make: (key, aim) => this.#makeOwn(key, aim),
      adopt: (client, aim) => this.#adoptUnused(client, aim),
    });
    this.#watching = new Watching({
      isolation: this.#isolation,
      own: this.#own,
      slotFor: (watcher) => this.for(watcher),
      aimOf: (watcher) => this.aimOf(watcher),
      isTaken: (slot, caller) => this.isTaken(slot, caller),
      ended: () => this.#ended,
    });
    this.#pinned = new PinnedSlot(this.#shared);
    this.#aims = new Aims({
      isolation: this.#isolation,
      folders: this.#folders,
      own: this.#own,
      facts: parts.facts,
      current: () => this.current,
    });
    this.#current = this.#shared.first;
  }

  #makeOwn(key: string, aim: Aim): ConnectionSlot {
    const slot = this.#parts.make(key, aim);
    this.#watching.slotAdded(key, slot);
    return slot;
  }

  /** Whether this server is known to send requests to its clients. */
  get asks(): boolean {
    return this.#isolation.asks;
  }

  /** The one that was used last: for callers that cannot be asked, and for status. */
  get current(): ConnectionSlot {
    if (this.#current.supervisor.connection) return this.#current;
    for (const slot of this.all()) if (slot.supervisor.connection) return slot;
    return this.#current;
  }

  *all(): Iterable<ConnectionSlot> {
    yield* this.#shared.all;
    yield* this.#own.all();
  }

  /** Whether the operator wants one connection for all clients. */
  get isSharedByAll(): boolean {
    return this.#isolation.mode === 'shared';
  }

  /** A connection is about to be opened there. Throws a Fault if its owner has too many. */
  makeRoom(slot: ConnectionSlot): void {
    makeRoomFor(slot, [...this.all(), ...this.#own.leaving], this.#parts.server);
  }

  /** Whether there is any connection that accepts calls. */
  get isConnected(): boolean {
    for (const slot of this.all()) if (isLive(slot)) return true;
    return false;
  }

  /** Where this goes. Several calls may share a connection if there are too many. */
  for(caller: Watcher | undefined): ConnectionSlot {
    return this.#for(caller, false) ?? this.current;
  }

  /** Where this call goes; undefined if it has to wait for a change. */
  forCall(caller: Caller | undefined): ConnectionSlot | undefined {
    return this.#for(caller, true);
  }

  #for(caller: Watcher | undefined, isCall: boolean): ConnectionSlot | undefined {
    if (this.#ended) throw this.#ended;
    const folder = this.#folders.of(caller);
    if (caller === undefined)
      return !this.#own.isEmpty || this.asks ? this.#forNobody() : this.current;
    if (this.#isolation.mode === 'shared') return this.#sharedByAll(caller);
    const { client } = caller;
    // Work for a client that has disconnected must not open a connection for it.
    if (client.isGone) {
      if (folder !== undefined) throw new Fault('cancelled', 'the client has disconnected');
      return this.#forNobody();
    }
    const era = this.#isolation.eraFor(client);
    const { roots } = caller;
    const isApart = this.#isolation.isApart(era) || (era === 'legacy' && hasAny(roots));
    const slot = isApart
      ? this.#ownFor(caller, era, isCall, folder)
      : this.#shared.chosen(era, caller.capabilities, folder);
    if (slot === undefined) return undefined;
    if (!client.isAskedInCalls) slot.clientEra = 'legacy';
    this.#current = slot;
    return slot;
  }

  #ownFor(
    { client, capabilities, roots }: Watcher,
    era: Era,
    isCall: boolean,
    folder: string | undefined,
  ): ConnectionSlot | undefined {
    const clients = classOf(capabilities);
    const isAsked = this.#parts.facts().asksRoots === true && hasRoots(clients);
    const isAlone = isCall && (roots !== undefined || isAsked) && era === 'legacy';
    const aim = folder === undefined ? { era, clients } : { era, clients, folder };
    return this.#own.for(client, aim, { roots, isAlone });
  }

  /** The roots of the first client are those of all. */
  #sharedByAll({ roots }: Watcher): ConnectionSlot {
    const { current } = this;
    if (hasAny(roots) && !isUsed(current)) current.roots = roots;
    return current;
  }

  /**
   * A caller that cannot be asked must not use the connection of a client that can: a request of
   * the server would be ambiguous.
   */
  #forNobody(): ConnectionSlot {
    const open = this.#shared.open;
    const slot = open.find(({ supervisor }) => supervisor.connection) ?? open[0];
    return slot ?? this.#shared.aimed({ era: this.#current.aim.era, clients: bareClass });
  }

  /** No client's own, but opened as for this one: for what all clients of its class are shown. */
  forClassOf({ client, capabilities }: Watcher): ConnectionSlot {
    if (this.#ended) throw this.#ended;
    if (this.#isolation.mode === 'shared') return this.current;
    const folder = this.#folders.of({ client });
    return this.#shared.chosen(this.#isolation.eraFor(client), capabilities, folder);
  }

  /** Why it cannot be used by this client, or by nobody in particular; undefined if it can. */
  refusalOf(caller: Pick<Watcher, 'client'> | undefined): Fault | undefined {
    return this.#folders.refusalOf(caller);
  }

  /**
   * Whether this slot was assigned to another client, or to calls with other roots, since this call
   * was assigned to it. Then it is not for this call.
   */
  isTaken({ owner, isSpent, roots, aim }: ConnectionSlot, caller: Caller | undefined): boolean {
    if (isSpent || (owner !== null && owner !== caller?.client.key)) return true;
    if (aim.folder !== undefined && !(caller && isIn(caller.client, aim.folder))) return true;
    if (this.#isolation.mode === 'shared' || aim.era !== 'legacy') return false;
    return caller?.roots !== undefined && (roots?.key ?? '') !== caller.roots.key;
  }

  /** The same text for callers that the server treats alike. */
  audienceOf(caller: Caller): string {
    return this.#aims.audienceOf(caller);
  }

  /** The era and class of the connection that serves this client. */
  aimOf(watcher: Watcher): Aim {
    return this.#aims.aimOf(watcher);
  }

  /** Whose lists are read on this connection for this client, or for nobody in particular. */
  aimOn(slot: ConnectionSlot, caller: Watcher | undefined): Aim {
    return this.#aims.aimOn(slot, caller);
  }

  /**
   * Its lists are for its client only from now on. False if it is not reserved, or its client has
   * disconnected.
   */
  part(slot: ConnectionSlot): boolean {
    const { owner } = slot;
    if (owner === null || !this.#own.of(owner).includes(slot)) return false;
    slot.aim = { ...slot.aim, owner };
    return true;
  }

  // --- what becomes known ------------------------------------------------------------------

  /**
   * What an earlier run stored: which capabilities to declare when no particular client starts it.
   */
  recall(clients: ClientClass): void {
    const { first } = this.#shared;
    if (first.isFree && this.#isolation.mode !== 'shared') first.aim = { ...first.aim, clients };
    this.#shared.forgetChoices();
  }

  /** Whether there is a connection, or one being opened, that this catalogue is read on. */
  isHeld(catalogue: Catalogue): boolean {
    for (const slot of this.all()) {
      if (slot.catalogue === catalogue && slot.supervisor.phase.kind !== 'idle') return true;
    }
    return false;
  }

  /** A connection was opened: another one may no longer be needed. */
  connected(slot: ConnectionSlot): void {
    slot.isDuplicate = false;
    const { owner } = slot;
    if (this.#isolation.mode === 'client' && owner !== null) {
      this.#pinned.toOwn(slot, this.#own.of(owner));
    }
    // Its client may have disconnected while it was opened.
    if (slot.isSpent) this.settle(slot);
    this.changed();
  }

  /** Facts about the server have changed. */
  changed(): void {
    for (const slot of this.#shared.duplicates()) this.settle(slot);
    this.changes.tell();
  }

  /** A call has ended: a connection that was kept only for it is closed. */
  settle(slot: ConnectionSlot): void {
    if (!slot.isDuplicate && !slot.isSpent) return;
    const { leases } = slot.supervisor;
    this.#pinned.moveFrom(slot);
    if (slot.isSpent && leases.isPinned) this.#pinned.renew(slot);
    else if (!leases.isWanted) slot.supervisor.evict();
  }

  /** Pins one connection of the server, or unpins it. */
  pin(isPinned: boolean): void {
    this.#pinned.set(isPinned, this.all(), this.current);
  }

  // --- one for each client -----------------------------------------------------------------

  /**
   * The server sends requests without showing which client they are for: from now on each client
   * has its own connection. A connection that only one client has used is reserved for it. True if
   * that is new.
   */
  foundAsking(): boolean {
    const isolation = this.#isolation;
    if (isolation.asks) return false;
    isolation.asks = true;
    if (isolation.mode !== 'auto') return true;
    for (const slot of this.#shared.open) {
      const client = slot.onlyClient;
      // A client that has disconnected would never release it.
      if (client && !client.isGone) slot.reserveFor(client);
    }
    this.#adopted(this.#shared.all.filter(({ owner }) => owner !== null));
    this.changes.tell();
    return true;
  }

  /** These are now reserved for their clients: what others watch there is moved. */
  #adopted(slots: readonly ConnectionSlot[]): void {
    this.#shared.forgetChoices();
    this.#watching.adopted(slots);
  }

  /**
   * The server is about to be sent data of this client: from now on no other client uses the
   * connection. False if that is impossible, because another has used it already or the client has
   * disconnected.
   */
  keepFor(slot: ConnectionSlot, connection: Connection, client: Client): boolean {
    const { key } = client;
    if (client.isGone || slot.isSpent || slot.onlyClientOf(connection)?.key !== key) return false;
    if (slot.owner === null && this.#isolation.mode === 'auto') {
      slot.reserveFor(client);
      this.#adopted([slot]);
    }
    // Where the operator wants one connection for all, the first client's data stays.
    return slot.owner === key || slot.owner === null;
  }

  /** Nobody has used this connection, and several wait for it: it is for the first of them. */
  reserve(slot: ConnectionSlot, connection: Connection, client: Client): void {
    slot.claim(connection, client);
    this.keepFor(slot, connection, client);
  }

  /** As long as nobody has used a shared connection, it can become one client's. */
  #adoptUnused(client: Client, { era, clients, folder }: Aim): ConnectionSlot | undefined {
    if (this.#isolation.mode !== 'auto') return undefined;
    const slot = this.#shared.open.find(
      (one) =>
        one.aim.era === era &&
        one.aim.folder === folder &&
        one.aim.clients.key === clients.key &&
        isUntouched(one),
    );
    if (!slot) return undefined;
    slot.reserveFor(client);
    this.#adopted([slot]);
    return slot;
  }

  /** Whether a legacy server would be sent the roots of this call. */
  takesRootsOf(caller: Watcher): boolean {
    if (this.aimOf(caller).era !== 'legacy') return false;
    // Where all share one connection, the roots of the first client stay.
    return this.#isolation.mode !== 'shared' || !isUsed(this.current);
  }

  /** Those that are reserved for this client, or that only this client has used. */
  usedOnlyBy(key: string): readonly ConnectionSlot[] {
    return [...this.all()].filter((slot) => {
      const { connection } = slot.supervisor;
      return slot.owner === key || (connection && slot.onlyClientOf(connection)?.key === key);
    });
  }

  /** The client has disconnected: what was reserved for it ends. */
  async release(key: string): Promise<void> {
    for (const slot of this.#own.of(key)) shareLists(slot);
    for (const slot of this.#shared.all) {
      if (slot.owner !== key) continue;
      slot.disown();
      // It was sent data of this client: it serves no other.
      slot.spend();
      this.settle(slot);
    }
    const slots = this.#own.take(key);
    if (slots.includes(this.#current)) this.#current = this.#shared.first;
    if (slots.length > 0 && this.#own.isEmpty) this.#pinned.toShared();
    await this.#own.leave(slots, ({ supervisor }) => supervisor.end());
  }

  /**
   * Clients are distinguished in another way from now on. What they watch moves to where their
   * calls go; connections of single clients end when their calls have ended.
   */
  async regroup(mode: ServerConfig['isolation']): Promise<void> {
    // One that ends must not begin another connection for those who watch: nobody would end it.
    if (mode === this.#isolation.mode || this.#ended) return;
    this.#isolation.mode = mode;
    const own = this.#own.takeAll();
    this.#shared.forgetChoices();
    for (const slot of own) shareLists(slot);
    for (const slot of this.#shared.all) slot.disown();
    const { first } = this.#shared;
    this.#current = first;
    first.aim = { ...first.aim, clients: this.#isolation.firstClass };
    this.#watching.regrouped();
    this.pin(this.#pinned.isOn);
    for (const slot of own) slot.isRetired = true;
    this.changes.tell();
    await this.#own.leave(own, ({ supervisor }) => supervisor.retire());
  }

  /** Permanently, after the running calls: later callers are refused with this fault. */
  async retireAll(refusal: Fault): Promise<void> {
    this.#ended = refusal;
    this.changes.tell();
    this.#watching.forgetAll();
    await Promise.all(
      [...this.all(), ...this.#own.leaving].map((slot) => slot.supervisor.retire()),
    );
  }

  /** Permanently: later callers are refused. */
  async endAll(): Promise<void> {
    this.#ended ??= endedFault();
    this.changes.tell();
    await Promise.all([...this.all(), ...this.#own.leaving].map((slot) => slot.supervisor.end()));
  }

  // --- from one process to the next --------------------------------------------------------

  /** How clients are distinguished, as the operator has set it. */
  get mode(): ServerConfig['isolation'] {
    return this.#isolation.mode;
  }

  /** Whether it is in the list of those that clients may share, or was made for one client. */
  isShared(slot: ConnectionSlot): boolean {
    return this.#shared.all.includes(slot);
  }

  /** The slots of the process before this one, in their order; the first of the shared ones is there already. */
  restore(
    slots: readonly RestoredSlot[],
    current: number,
    asks: boolean,
  ): readonly ConnectionSlot[] {
    if (asks) this.#isolation.asks = true;
    let isFirst = true;
    const restored = slots.map(({ isShared, owner, sharingOwner, aim }) => {
      if (!isShared) return this.#own.restore(owner ?? '', sharingOwner, aim);
      const slot = isFirst ? this.#shared.first : this.#shared.restore(aim, owner);
      isFirst = false;
      slot.aim = aim;
      slot.owner = owner;
      slot.sharingOwner = sharingOwner;
      return slot;
    });
    this.#shared.forgetChoices();
    this.#current = restored[current] ?? this.#current;
    return restored;
  }

  /** Watches a resource for a client: see Watching. */
  async watch(caller: Caller, uri: string): Promise<() => void> {
    const refusal = this.refusalOf(caller);
    if (refusal) throw refusal;
    const end = await this.#watching.watch(caller, uri);
    return () => {
      end();
      this.changes.tell();
    };
  }
}

function endedFault(): Fault {
  return new Fault('unavailable', 'the server has been stopped or replaced; try again');
}

/** Its lists no longer belong to one client: no further list is kept for that client, whatever still arrives here. */
function shareLists(slot: ConnectionSlot): void {
  const { owner: _, ...aim } = slot.aim;
  slot.aim = aim;
}

/** Whether there is a connection, or one is being made, that no client has used or is about to. */
function isUntouched(slot: ConnectionSlot): boolean {
  return slot.inFlight === 0 && slot.supervisor.phase.kind !== 'idle' && !isUsed(slot);
}

/** Whether a client has used its connection. */
function isUsed(slot: ConnectionSlot): boolean {
  const { connection } = slot.supervisor;
  return connection !== undefined && !slot.isUnused(connection);
}

function hasAny(roots: CallRoots | undefined): boolean {
  return roots !== undefined && roots.key !== '';
}
