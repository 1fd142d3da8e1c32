// Opens a connection of a server that is ready for calls: it is opened, its lists are read, and the
// server's messages are forwarded to the right receiver. An error before that closes it.

import { ignored } from '../../kernel/contain.ts';
import { faultFrom } from '../../kernel/fault.ts';
import type { Handled } from '../../observe/defects.ts';
import type { Noise } from '../../observe/events.ts';
import type { Connection, ConnectionListener } from '../../upstream/connection.ts';
import type { Exchange } from '../../upstream/exchange.ts';
import type { Message } from '../../wire/scan.ts';
import type { Client } from '../connections/caller.ts';
import type { ConnectionSlot, WrittenUsers } from '../connections/connection-slot.ts';
import type { RootsAtStart } from '../connections/roots-at-start.ts';
import type { RestoredConnection } from '../handover/handed-host.ts';
import type { Catalogue } from '../lists/catalogue.ts';
import { type ListKind, listKinds } from '../lists/listings.ts';
import type { Place } from '../tasks/begun-task.ts';
import { CommonLists, type CommonReading } from './common-lists.ts';
import { containedListener } from './contained-listener.ts';
import { adoptedConnection, openConnection } from './open-connection.ts';
import type { Server } from './server.ts';
import type { ServerParts } from './server-parts.ts';

/** Which list a notification is about; resources, templates and skills change together. */
const changedLists: ReadonlyMap<string, readonly ListKind[]> = new Map([
  ['notifications/tools/list_changed', ['tools']],
  ['notifications/prompts/list_changed', ['prompts']],
  ['notifications/resources/list_changed', ['resources', 'resourceTemplates', 'skills']],
]);

export interface MakerListener {
  /** The last lines that a process wrote to stderr. */
  lastWords(stderr: readonly string[]): void;
  noise(noise: Noise): void;
}

/** What was handed over of a slot by the process before this one. */
export interface ExpectedConnection {
  readonly connection: RestoredConnection;
  readonly users: WrittenUsers | null;
  /** The first of them. */
  readonly client: Client | undefined;
  readonly told: readonly string[];
  readonly isSpent: boolean;
  /** Called when it is in use: tasks that clients have begun on it go on. */
  readonly adoptedAt: (place: Place) => void;
}

interface Hearing {
  /** Its handshake is complete. */
  readonly isOpen: () => boolean;
  /** Called before every message. */
  readonly heard?: (from: Connection) => void;
}

export class ConnectionMaker {
  readonly #server: Server;
  readonly #parts: ServerParts;
  readonly #roots: RootsAtStart;
  readonly #listener: MakerListener;
  readonly #common: CommonLists;
  /** Those that are being asked for their tools, until they have answered. */
  readonly #listing = new WeakSet<Connection>();
  /** Until they are taken over, which begins at once. */
  readonly #expected = new Map<ConnectionSlot, ExpectedConnection & { over(): void }>();
  #formerEnded: Promise<void> | undefined;

  constructor(server: Server, parts: ServerParts, roots: RootsAtStart, listener: MakerListener) {
    this.#server = server;
    this.#parts = parts;
    this.#roots = roots;
    this.#listener = listener;
    this.#common = new CommonLists(parts.clock);
  }

  /** What roots wait for before they are sent on this slot's connection; undefined if nothing. */
  beforeRoots(slot: ConnectionSlot): Promise<void> | undefined {
    const { facts } = this.#server;
    // Lists that are for its client only need not be read before.
    if (slot.aim.owner !== undefined || facts.now.listsAfterRoots) return undefined;
    return this.#common.before(slot, () => facts.learn({ listsAfterRoots: true }));
  }

  /** Whether the server is being asked for its tools on this connection. */
  isListing(connection: Connection): boolean {
    return this.#listing.has(connection);
  }

  /** Rejects with a Fault, and then leaves nothing open. */
  async connect(
    slot: ConnectionSlot,
    generation: number,
    signal: AbortSignal,
    lost: ConnectionListener['lost'],
  ): Promise<Connection> {
    const expected = this.#expected.get(slot);
    this.#expected.delete(slot);
    if (expected !== undefined) {
      return this.#adopt(slot, expected, lost).finally(() => expected.over());
    }
    if (this.#formerEnded !== undefined) {
      await this.#formerEnded;
      signal.throwIfAborted();
    }
    this.#server.slots.makeRoom(slot);
    const startedAt = this.#parts.clock.now();
    using common = this.#common.begin(slot);
    let connection: Connection | undefined;
    const contained = this.#listenerOf(slot, lost, { isOpen: () => connection !== undefined });
    connection = await openConnection(
      this.#server,
      this.#parts,
      slot.aim,
      generation,
      signal,
      contained,
    );
    await this.#prepareUnlessAborted(slot, connection, signal, common);
    this.#server.history.started(this.#parts.clock.now() - startedAt);
    return connection;
  }

  #listenerOf(
    slot: ConnectionSlot,
    lost: ConnectionListener['lost'],
    { isOpen, heard = ignored }: Hearing,
  ): ConnectionListener {
    const listener: ConnectionListener = {
      lost,
      ended: (from) => {
        this.#parts.tasks.lost(from);
        this.#server.questions.lost(from);
        slot.ended(from);
        slot.supervisor.ended(from);
        if (isOpen() && !this.#server.slots.isConnected) this.#server.facts.lastConnectionEnded();
        // The connection that another one duplicated may be closed.
        this.#server.slots.changed();
      },
      lastWords: (stderr) => this.#listener.lastWords(stderr),
      // Before the handshake is complete no call can be running that a message could belong to.
      notification: (message, about, from) => {
        heard(from);
        if (isOpen()) this.#notified(slot, message, about, from);
        else this.#listener.noise('unowned-notification');
      },
      asked: (message, about, from) => {
        heard(from);
        this.#server.questions.asked(slot, message, about, from);
      },
      isOfTask: (message, from) => {
        heard(from);
        return this.#parts.tasks.isAbout(message, from);
      },
      missed: () => this.#server.offerings.doubt(slot.aim),
      noise: (noise) => this.#listener.noise(noise),
    };
    const caught = (handled: Handled, error: unknown) =>
      slot.supervisor.noteFault(
        this.#parts.events.defects.caught(handled, error, this.#server.name),
      );
    return containedListener(listener, caught);
  }

  // --- from one process to the next --------------------------------------------------------

  /**
   * The next connection of this slot is not opened: it was handed over by the process before this one. Resolves when it
   * is in use, or could not be taken over.
   */
  expect(slot: ConnectionSlot, expected: ExpectedConnection): Promise<void> {
    return new Promise((over) => {
      this.#expected.set(slot, { ...expected, over });
    });
  }

  /** Nothing is opened before this: a process of the server's former config is being ended. */
  waitFor(ended: Promise<void>): void {
    this.#formerEnded = Promise.all([this.#formerEnded, ended]).then(ignored);
  }

  /** Neither greeted nor read again: who has used it, and what it lists, was handed over with it. */
  async #adopt(
    slot: ConnectionSlot,
    { connection: restored, users, client, told, isSpent, adoptedAt }: ExpectedConnection,
    lost: ConnectionListener['lost'],
  ): Promise<Connection> {
    const { offerings, slots } = this.#server;
    let isBegun = false;
    // What it says may come before it is here.
    const begin = (from: Connection) => {
      if (isBegun) return;
      isBegun = true;
      slot.adopted(from, users, client, isSpent);
      this.#roots.adopted(from);
      adoptedAt({ slot, connection: from });
      slot.catalogue = offerings.of(slots.aimOn(slot, undefined)).catalogue;
      for (const { catalogue } of offerings.readOn(slot.aim)) catalogue.lists.adopted(from);
    };
    const listener = this.#listenerOf(slot, lost, { isOpen: () => isBegun, heard: begin });
    const connection = await adoptedConnection(
      this.#server,
      this.#parts,
      slot.aim,
      listener,
      restored,
    ).catch((error: unknown) => {
      restored.refused?.(faultFrom(error));
      throw error;
    });
    begin(connection);
    restored.adopted?.(connection);
    slot.subscriptions.adopted(connection, told);
    // Nobody has listened to it for a moment.
    if (connection.era === 'modern') offerings.doubt(slot.aim);
    for (const { aim, shownAt } of offerings.readOn(slot.aim)) {
      const isShown = shownAt !== Number.NEGATIVE_INFINITY;
      if (isShown) slot.subscriptions.listenFor(connection, aim.clients);
    }
    return connection;
  }

  /** Closes the connection on every exit path but the one on which it is used. */
  async #prepareUnlessAborted(
    slot: ConnectionSlot,
    connection: Connection,
    signal: AbortSignal,
    common: CommonReading,
  ): Promise<void> {
    // What cannot be closed now is closed below, where that is waited for.
    const abort = () => void connection.close('start-failed').catch(ignored);
    signal.addEventListener('abort', abort);
    try {
      await this.#prepare(slot, connection, signal, common);
      signal.throwIfAborted();
    } catch (error) {
      await connection.close('start-failed');
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** What a new connection needs before the first call is sent on it. */
  async #prepare(
    slot: ConnectionSlot,
    connection: Connection,
    signal: AbortSignal,
    common: CommonReading,
  ): Promise<void> {
    // The server may use another era than the client that it was started for.
    slot.aim = { ...slot.aim, era: connection.era };
    const { offerings, slots } = this.#server;
    const aim = slots.aimOn(slot, undefined);
    const { catalogue } = offerings.of(aim);
    slot.catalogue = catalogue;
    offerings.greeted(aim, connection.greeting);
    // A reserved connection is to the same server: its common lists need not be read again.
    const isKnown = slot.owner !== null && slot.aim.owner === undefined && catalogue.isFresh;
    const shown = isKnown ? [] : offerings.renewed(aim);
    this.#roots.connected(slot, connection, !isKnown);
    slot.subscriptions.connected(connection);
    for (const one of shown) slot.subscriptions.listenFor(connection, one.aim.clients);
    if (!signal.aborted && !isKnown) {
      const [tools, others] = this.#readLists(catalogue, connection);
      if (slot.aim.owner === undefined) common.reads(Promise.allSettled([tools, ...others]));
      await tools;
      // Clients of other classes may only listen: they hear of it if their lists are others now.
      for (const one of shown) this.#readAll(one, connection);
    }
    // While they were read it may have been sent data of a client: then it has lists of its own.
    const own = slot.catalogue === catalogue ? undefined : slot.catalogue;
    if (own && !signal.aborted) await this.#readLists(own, connection)[0];
  }

  /** The tools, and the others: read in parallel, and waited for only by those who ask for them. */
  #readLists(
    catalogue: Catalogue,
    connection: Connection,
  ): readonly [tools: Promise<void>, others: readonly Promise<unknown>[]] {
    const kinds = this.#parts.hasClients ? listKinds.filter((kind) => kind !== 'tools') : [];
    const others = kinds.map((kind) => catalogue.lists.load(kind, connection).catch(notNeededNow));
    this.#listing.add(connection);
    const tools = catalogue.tryLoad(connection).finally(() => this.#listing.delete(connection));
    return [tools, others];
  }

  /** Without waiting; what fails is read when it is next asked for. */
  #readAll({ lists }: Catalogue, connection: Connection): void {
    const kinds = this.#parts.hasClients ? listKinds : [];
    for (const kind of kinds) lists.load(kind, connection).catch(notNeededNow);
  }

  #notified(
    slot: ConnectionSlot,
    message: Message,
    about: Exchange | undefined,
    from: Connection,
  ): void {
    const { method = '' } = message;
    const changed = changedLists.get(method);
    if (changed) {
      this.#server.part(slot, from);
      return this.#server.offerings.announced(slot.aim, changed);
    }
    if (method === 'notifications/resources/updated') {
      const audience = { owner: slot.ownerOf(from), folder: slot.aim.folder };
      return this.#parts.updated(this.#server.name, message, audience);
    }
    if (method === 'notifications/subscriptions/acknowledged') return;
    if (this.#parts.tasks.told(this.#server.name, message, from)) return;
    if (this.#parts.hasClients) this.#server.questions.told(slot, message, about, from);
  }
}

/** A caller that needs the list requests it, and then gets the error. */
function notNeededNow(): void {}
