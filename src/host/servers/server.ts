// One registered server: its config, its places under supervision, what it offers and what it has
// been asked to tell. Here the pieces meet that know nothing of each other: a transport is chosen by
// the config, and each supervisor is given a way to make a connection that is ready to be called.

import type { ServerConfig, ToolConfig } from '../../config/schema.ts';
import { specHash } from '../../config/spec-hash.ts';
import type { Clock, Random } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';
import { ownValue } from '../../kernel/own-value.ts';
import type { Redactor } from '../../kernel/redactor.ts';
import type { Handled } from '../../observe/defects.ts';
import type { EventHub, Noise } from '../../observe/events.ts';
import type { Records } from '../../store/contract/records.ts';
import { Admission } from '../../supervise/admission.ts';
import type { Spawn } from '../../supervise/child.ts';
import type { Environment } from '../../supervise/process/start/environment.ts';
import { ServerStanding } from '../../supervise/standing.ts';
import { Supervisor, type SupervisorPolicy } from '../../supervise/supervisor.ts';
import type { Connection, ConnectionListener, Greeting } from '../../upstream/connection.ts';
import type { Exchange } from '../../upstream/exchange.ts';
import type { HttpClient } from '../../upstream/http/http-client.ts';
import type { Identity } from '../../upstream/negotiate.ts';
import type { Message } from '../../wire/scan.ts';
import type { Caller } from '../connections/caller.ts';
import { ConnectionSlot } from '../connections/connection-slot.ts';
import { ConnectionSlots } from '../connections/connection-slots.ts';
import { Questions } from '../connections/questions.ts';
import { RootsAtStart } from '../connections/roots-at-start.ts';
import type { ListChange } from '../host-news.ts';
import type { Catalogue } from '../lists/catalogue.ts';
import type { KeptCatalogues } from '../lists/kept-catalogues.ts';
import { type ListKind, listKinds } from '../lists/listings.ts';
import { Offerings } from '../lists/offerings.ts';
import type { BegunTasks } from '../tasks/begun-tasks.ts';
import { containedListener } from './contained-listener.ts';
import { openConnection, redactorFor } from './open-connection.ts';
import { ServerFacts } from './server-facts.ts';
import { StartHistory } from './start-history.ts';

/** Everything outside the process that a server is reached through. */
export interface Edges {
  readonly clock: Clock;
  readonly random: Random;
  readonly spawn: Spawn;
  readonly http: HttpClient;
  /** What processes inherit from: their secrets are known by it. */
  readonly sourceEnv?: Environment;
}

export interface ServerParts extends Edges {
  readonly events: EventHub;
  /** What was learnt of servers, by their spec. */
  readonly facts: Records;
  readonly kept: KeptCatalogues;
  /** Where it is kept how starts went. */
  readonly starts: Records;
  readonly identity: Identity;
  /** Are there clients behind this host: is everything carried, and may servers ask back? */
  readonly hasClients: boolean;
  /** Tools whose definition changed: what was remembered of them is void. */
  readonly toolsChanged: (server: string, tools: readonly string[]) => void;
  /** A client has told the server something on which its answers may depend. */
  readonly clientsTold: (server: string) => void;
  /** A connection was made; the idle pool wants to know. */
  readonly connected: (server: Server) => void;
  /** What clients can see of a list is, or may be, no longer what it was. */
  readonly listChanged: (server: string, kind: ListKind, change: ListChange) => void;
  /** A watched resource changed; `owner` is the client whose own connection says so. */
  readonly updated: (server: string, message: Message, owner: string | null) => void;
  readonly tasks: BegunTasks;
}

/** A remote server comes back by itself, however long it was away: its delay grows to this. */
const longestRemoteDelayMs = 300_000;
const firstRemoteDelayMs = 500;
const healthyMs = 60_000;

/** Which list a notification is about; resources, templates and skills change together. */
const changedLists: ReadonlyMap<string, readonly ListKind[]> = new Map([
  ['notifications/tools/list_changed', ['tools']],
  ['notifications/prompts/list_changed', ['prompts']],
  ['notifications/resources/list_changed', ['resources', 'resourceTemplates', 'skills']],
]);

export class Server {
  readonly name: string;
  readonly config: ServerConfig;
  readonly specHash: string;
  readonly slots: ConnectionSlots;
  readonly admission: Admission;
  readonly offerings: Offerings;
  readonly questions: Questions;
  readonly facts: ServerFacts;
  readonly history: StartHistory;
  readonly #standing: ServerStanding;
  readonly #roots: RootsAtStart;
  readonly #parts: ServerParts;
  /** At most one for each kind. */
  readonly #noise = new Map<Noise, number>();
  /** The last lines of the last process, kept for status when it is gone. */
  #lastStderr: readonly string[] = [];
  #recalling: Promise<void> | undefined;
  #redactor: Redactor | undefined;
  readonly #hasToolConfig: boolean;

  constructor(name: string, config: ServerConfig, parts: ServerParts) {
    this.name = name;
    this.config = config;
    this.specHash = specHash(config);
    this.#hasToolConfig = Object.keys(config.tools).length > 0;
    this.#parts = parts;
    const { clock, events, hasClients } = parts;
    const writing = { records: parts.starts, isWritten: hasClients };
    this.history = new StartHistory(this.specHash, clock, writing);
    this.admission = new Admission(name, config.concurrency, config.queue);
    this.#standing = new ServerStanding(clock, policyOf(config).circuit, (circuit) =>
      events.emit({ kind: 'circuit', server: name, circuit }),
    );
    this.facts = new ServerFacts(parts.facts, this.specHash, clock, () => this.#learnt());
    this.offerings = new Offerings({
      ...parts,
      config,
      specHash: this.specHash,
      facts: this.facts,
      isKept: hasClients,
      asks: () => this.slots.asks,
      isHeld: (catalogue) => this.slots.isHeld(catalogue),
      toolsRead: (tools, invalid, changed) => {
        events.emit({ kind: 'tools', server: name, tools, invalid });
        if (changed.length > 0) parts.toolsChanged(name, changed);
      },
      caught: (error) => {
        events.defects.caught('the kept catalogue', error, name);
      },
      listChanged: (kind, change) => parts.listChanged(name, kind, change),
      read: (kind) => this.history.listed(kind),
    });
    this.slots = new ConnectionSlots({
      isolation: config.isolation,
      hasClients,
      facts: () => this.facts.assumed,
      make: (owner, aim) => new ConnectionSlot(owner, aim, clock, (slot) => this.#supervise(slot)),
    });
    this.#roots = new RootsAtStart(this.facts, clock);
    this.questions = new Questions({
      server: name,
      roots: this.#roots,
      slots: this.slots,
      hasClients,
      asked: () => this.facts.learn({ classes: 'differ' }),
      told: () => parts.clientsTold(name),
      foundAsking: () => {
        if (this.slots.foundAsking()) this.offerings.keep();
      },
      noise: (noise) => this.#countNoise(noise),
      caught: (error) => {
        events.defects.caught('a question of the server', error, name);
      },
      tasks: parts.tasks,
    });
  }

  /** How often a connection of it was made again, over all of them. */
  get startsAgain(): number {
    return this.#standing.startsAgain;
  }

  /** Knows every value that must not be shown. Made when something may be shown: most servers of a large config never are. */
  get redactor(): Redactor {
    this.#redactor ??= redactorFor(this.config, this.#parts.sourceEnv);
    return this.#redactor;
  }

  /** Of the connection that was used last. */
  get supervisor(): Supervisor<Connection> {
    return this.slots.current.supervisor;
  }

  /** What the operator says about a tool; for most servers there is nothing to look up. */
  toolConfig(tool: string): ToolConfig | undefined {
    return this.#hasToolConfig ? ownValue(this.config.tools, tool) : undefined;
  }

  get stderr(): readonly string[] {
    return this.supervisor.connection?.stderr ?? this.#lastStderr;
  }

  get noise(): ReadonlyMap<Noise, number> {
    return this.#noise;
  }

  // --- what it offers ----------------------------------------------------------------------

  /** To whoever is on the connection that was used last. */
  get catalogue(): Catalogue {
    return this.catalogueOf(this.slots.current);
  }

  /** To this client; to anybody if none is named. */
  catalogueFor(caller: Caller | undefined): Catalogue {
    return caller ? this.offerings.shownTo(this.slots.aimOf(caller)).catalogue : this.catalogue;
  }

  /** Is this client shown what others are offered, because nothing was read for clients like it? */
  isBorrowedFor(caller: Caller | undefined): boolean {
    return caller !== undefined && this.offerings.isBorrowed(this.slots.aimOf(caller));
  }

  /** To the clients of this connection; while there is none, what is shown instead. */
  catalogueOf(slot: ConnectionSlot): Catalogue {
    // What another class or era is offered says nothing about the process that is here now.
    if (slot.catalogue && slot.supervisor.connection) return slot.catalogue;
    return this.offerings.shownTo(slot.aim).catalogue;
  }

  /** The connection that this catalogue is read on; undefined while there is none. */
  slotOf(catalogue: Catalogue): ConnectionSlot | undefined {
    for (const slot of this.slots.all()) {
      if (slot.catalogue === catalogue && slot.supervisor.connection) return slot;
    }
    return undefined;
  }

  /** What it said of itself on the connection that was used last, or in an earlier run. */
  get greeting(): Greeting | undefined {
    return this.offerings.shownTo(this.slots.current.aim).greeting;
  }

  /** What it said of itself to clients like this one. */
  greetingFor(caller: Caller): Greeting | undefined {
    return this.offerings.shownTo(this.slots.aimOf(caller)).greeting;
  }

  /** Reads what an earlier run knew, once. */
  recall(): Promise<void> {
    this.#recalling ??= this.#recall().catch((error: unknown) => {
      this.#parts.events.defects.caught('the kept catalogue', error, this.name);
    });
    return this.#recalling;
  }

  async #recall(): Promise<void> {
    const [record] = await Promise.all([this.offerings.recall(), this.facts.recall()]);
    if (!record) return;
    if (record.asks) this.slots.foundAsking();
    const last = record.classes.findLast(({ aim }) => aim.era === 'legacy');
    if (last) this.slots.recall(last.aim.clients);
  }

  /** Something about the server is known that was not: which connections serve whom may change. */
  #learnt(): void {
    for (const slot of this.slots.all()) {
      if (slot.supervisor.connection) slot.catalogue = this.offerings.of(slot.aim).catalogue;
    }
    this.slots.changed();
  }

  // --- making a connection -----------------------------------------------------------------

  #supervise(slot: ConnectionSlot): Supervisor<Connection> {
    const { clock, random, events } = this.#parts;
    return new Supervisor({
      server: this.name,
      clock,
      random,
      events,
      policy: policyOf(this.config),
      standing: this.#standing,
      connect: (generation, signal, lost) => this.#connect(slot, generation, signal, lost),
      connected: (connection) => {
        this.slots.connected(slot);
        slot.subscriptions.connected(connection);
        this.#parts.connected(this);
      },
    });
  }

  async #connect(
    slot: ConnectionSlot,
    generation: number,
    signal: AbortSignal,
    lost: ConnectionListener['lost'],
  ): Promise<Connection> {
    const startedAt = this.#parts.clock.now();
    let connection: Connection | undefined;
    const listener: ConnectionListener = {
      lost,
      ended: (from) => {
        this.#parts.tasks.lost(from);
        this.questions.lost(from);
        slot.ended(from);
        if (connection && !this.slots.isConnected) this.facts.lastConnectionEnded();
        // What another connection was a duplicate of may be gone.
        this.slots.changed();
      },
      lastWords: (stderr) => {
        this.#lastStderr = stderr;
      },
      // Before the greeting is over there is no call that a word of the server could belong to.
      notification: (message, about, from) =>
        connection
          ? this.#notified(slot, message, about, from)
          : this.#countNoise('unowned-notification'),
      asked: (message, about, from) => this.questions.asked(slot, message, about, from),
      noise: (noise) => this.#countNoise(noise),
    };
    const caught = (handled: Handled, error: unknown) =>
      slot.supervisor.noteFault(this.#parts.events.defects.caught(handled, error, this.name));
    const contained = containedListener(listener, caught);
    connection = await openConnection(this, this.#parts, slot.aim, generation, signal, contained);
    await this.#prepareUnlessAborted(slot, connection, signal);
    this.history.started(this.#parts.clock.now() - startedAt);
    return connection;
  }

  /** Closes the connection on every way out but the one on which it is installed. */
  async #prepareUnlessAborted(
    slot: ConnectionSlot,
    connection: Connection,
    signal: AbortSignal,
  ): Promise<void> {
    // What cannot be closed now is closed below, where that is waited for.
    const abort = () => void connection.close('hung').catch(ignored);
    signal.addEventListener('abort', abort);
    try {
      await this.#prepare(slot, connection, signal);
      signal.throwIfAborted();
    } catch (error) {
      await connection.close('hung');
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** What a new connection needs before the first call may go out on it. */
  async #prepare(slot: ConnectionSlot, connection: Connection, signal: AbortSignal): Promise<void> {
    // The server may speak another era than the client that it was started for.
    slot.aim = { ...slot.aim, era: connection.era };
    const { catalogue } = this.offerings.of(slot.aim);
    slot.catalogue = catalogue;
    this.offerings.greeted(slot.aim, connection.greeting);
    this.#roots.connected(slot, connection);
    // A client's own connection is to the same server: what it offers need not be read again.
    const isKnown = slot.owner !== null && catalogue.isFresh;
    if (!signal.aborted && !isKnown) await this.#readLists(catalogue, connection);
  }

  async #readLists(catalogue: Catalogue, connection: Connection): Promise<void> {
    if (this.#parts.hasClients) {
      // Read beside the tools, and waited for by whoever asks for them.
      for (const kind of listKinds) {
        if (kind !== 'tools') catalogue.lists.load(kind, connection).catch(notNeededNow);
      }
    }
    await catalogue.tryLoad(connection);
  }

  #notified(
    slot: ConnectionSlot,
    message: Message,
    about: Exchange | undefined,
    from: Connection,
  ): void {
    const { method = '' } = message;
    const changed = changedLists.get(method);
    if (changed) return this.offerings.announced(slot.aim, changed);
    if (method === 'notifications/resources/updated') {
      return this.#parts.updated(this.name, message, slot.owner);
    }
    if (method === 'notifications/subscriptions/acknowledged') return;
    if (this.#parts.tasks.told(this.name, message, from)) return;
    if (this.#parts.hasClients) this.questions.told(slot, message, about, from);
  }

  /** Counted always, told at every power of ten: a flood must not become a flood of events. */
  #countNoise(noise: Noise): void {
    const count = (this.#noise.get(noise) ?? 0) + 1;
    this.#noise.set(noise, count);
    if (Number.isInteger(Math.log10(count))) {
      this.#parts.events.emit({ kind: 'noise', server: this.name, noise, count });
    }
  }
}

/** Whoever needs the list asks for it, and then hears why it could not be read. */
function notNeededNow(): void {}

function policyOf(config: ServerConfig): SupervisorPolicy {
  const { circuit, keepAliveMs, startTimeoutMs, callTimeoutMs } = config;
  return {
    restart: {
      max: config.restart?.max ?? null,
      windowMs: config.restart?.windowMs ?? longestRemoteDelayMs,
      minDelayMs: config.restart?.minDelayMs ?? firstRemoteDelayMs,
      maxDelayMs: config.restart?.maxDelayMs ?? longestRemoteDelayMs,
      healthyMs,
    },
    // Every way out of a call gives the slot back; the expiry is for the way nobody thought of.
    circuit: { ...circuit, probeMs: startTimeoutMs + callTimeoutMs },
    keepAliveMs,
    startTimeoutMs,
  };
}
