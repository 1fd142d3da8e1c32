// One registered server: its config, its places under supervision, what it offers and what it has
// been asked to tell. Here the pieces meet that know nothing of each other: a transport is chosen by
// the config, and each supervisor is given a way to make a connection that is ready to be called.

import type { ServerConfig, ToolConfig } from '../config/schema.ts';
import { specHash } from '../config/spec-hash.ts';
import type { Clock, Random } from '../kernel/clock.ts';
import { contain, ignored } from '../kernel/contain.ts';
import { ownValue } from '../kernel/own-value.ts';
import type { Handled } from '../observe/defects.ts';
import type { EventHub, Noise } from '../observe/events.ts';
import type { Collection } from '../store/store.ts';
import { Admission } from '../supervise/admission.ts';
import type { Spawn } from '../supervise/child.ts';
import { Supervisor, type SupervisorPolicy } from '../supervise/supervisor.ts';
import type { Connection, ConnectionListener, Greeting } from '../upstream/connection.ts';
import type { Exchange } from '../upstream/exchange.ts';
import type { HttpClient } from '../upstream/http-client.ts';
import type { Identity, Verdicts } from '../upstream/negotiate.ts';
import type { Message } from '../wire/scan.ts';
import { Catalogue } from './catalogue.ts';
import { containedListener } from './contained-listener.ts';
import type { ListChange } from './host-news.ts';
import type { KeptCatalogues } from './kept-catalogues.ts';
import { type ListKind, listKinds } from './listings.ts';
import { openConnection } from './open-connection.ts';
import { Questions } from './questions.ts';
import { Seat } from './seat.ts';
import { Seats } from './seats.ts';
import { StartHistory } from './start-history.ts';

/** Everything outside the process that a server is reached through. */
export interface Edges {
  readonly clock: Clock;
  readonly random: Random;
  readonly spawn: Spawn;
  readonly http: HttpClient;
}

export interface ServerParts extends Edges {
  readonly events: EventHub;
  readonly verdicts: Verdicts;
  readonly kept: KeptCatalogues;
  /** Where it is kept how starts went. */
  readonly starts: Collection;
  readonly identity: Identity;
  /** Are there clients behind this host: is everything carried, and may servers ask back? */
  readonly hasClients: boolean;
  /** Tools whose definition changed: what was remembered of them is void. */
  readonly toolsChanged: (server: string, tools: readonly string[]) => void;
  /** A connection was made; the idle pool wants to know. */
  readonly connected: () => void;
  /** What clients can see of a list is, or may be, no longer what it was. */
  readonly listChanged: (server: string, kind: ListKind, change: ListChange) => void;
  /** A watched resource changed; `owner` is the client whose own connection says so. */
  readonly updated: (server: string, message: Message, owner: string | null) => void;
}

/** A remote server comes back by itself, however long it was away: its delay grows to this. */
const longestRemoteDelayMs = 300_000;
const firstRemoteDelayMs = 500;
const healthyMs = 60_000;

/** Which list a notification is about; resources and their templates change together. */
const changedLists: ReadonlyMap<string, readonly ListKind[]> = new Map([
  ['notifications/tools/list_changed', ['tools']],
  ['notifications/prompts/list_changed', ['prompts']],
  ['notifications/resources/list_changed', ['resources', 'resourceTemplates']],
]);

export class Server {
  readonly name: string;
  readonly config: ServerConfig;
  readonly specHash: string;
  readonly seats: Seats;
  readonly admission: Admission;
  readonly catalogue: Catalogue;
  readonly questions: Questions;
  readonly history: StartHistory;
  readonly #parts: ServerParts;
  readonly #noise = new Map<Noise, number>();
  readonly #announced = new Set<ListKind>();
  /** The last lines of the last process, kept for status when it is gone. */
  #lastStderr: readonly string[] = [];
  #greeting: Greeting | undefined;
  #recalling: Promise<void> | undefined;
  #keeping = false;
  readonly #hasToolConfig: boolean;

  constructor(name: string, config: ServerConfig, parts: ServerParts) {
    this.name = name;
    this.config = config;
    this.specHash = specHash(config);
    this.#hasToolConfig = Object.keys(config.tools).length > 0;
    this.#parts = parts;
    const { starts: collection, hasClients: isWritten } = parts;
    this.history = new StartHistory(this.specHash, parts.clock, { collection, isWritten });
    this.admission = new Admission(name, config.concurrency, config.queue);
    this.catalogue = new Catalogue(config, parts.clock, {
      listed: (tools, invalid, changed) => {
        parts.events.emit({ kind: 'tools', server: name, tools, invalid });
        if (changed.length > 0) parts.toolsChanged(name, changed);
      },
      read: (kind, change) => {
        this.history.listed(kind);
        const isAnnounced = this.#announced.delete(kind);
        if (change === 'same') return;
        parts.listChanged(name, kind, isAnnounced ? 'announced' : change);
        this.#keep();
      },
    });
    this.seats = new Seats(config.isolation, (owner) => {
      return new Seat(owner, parts.clock, (seat) => this.#supervise(seat));
    });
    this.questions = new Questions({
      server: name,
      seats: this.seats,
      hasClients: parts.hasClients,
      foundAsking: () => {
        if (this.seats.foundAsking()) this.#keep();
      },
      noise: (noise) => this.#countNoise(noise),
      caught: (error) => {
        parts.events.defects.caught('a question of the server', error, name);
      },
    });
  }

  /** Of the connection that everybody shares. */
  get supervisor(): Supervisor<Connection> {
    return this.seats.shared.supervisor;
  }

  /** What the operator says about a tool; for most servers there is nothing to look up. */
  toolConfig(tool: string): ToolConfig | undefined {
    return this.#hasToolConfig ? ownValue(this.config.tools, tool) : undefined;
  }

  get stderr(): readonly string[] {
    return this.supervisor.connection?.stderr ?? this.#lastStderr;
  }

  /** What it said of itself when it was last connected. */
  get greeting(): Greeting | undefined {
    return this.#greeting;
  }

  get noise(): ReadonlyMap<Noise, number> {
    return this.#noise;
  }

  // --- what is kept beyond this run --------------------------------------------------------

  /** Reads what an earlier run knew, once. */
  recall(): Promise<void> {
    this.#recalling ??= this.#recall().catch((error: unknown) => {
      // Without it the lists are simply read anew.
      this.#parts.events.defects.caught('the kept catalogue', error, this.name);
    });
    return this.#recalling;
  }

  async #recall(): Promise<void> {
    const kept = await this.#parts.kept.get(this.specHash);
    if (!kept) return;
    if (kept.asks) this.seats.foundAsking();
    this.#greeting ??= kept.greeting;
    for (const [kind, definitions] of kept.lists) this.catalogue.recall(kind, definitions);
  }

  /** Several readings come together; they are written once. */
  #keep(): void {
    if (this.#keeping || !this.#parts.hasClients) return;
    this.#keeping = true;
    const caught = (error: unknown) => {
      this.#parts.events.defects.caught('the kept catalogue', error, this.name);
    };
    const write = () => {
      this.#keeping = false;
      const known = listKinds.map((kind) => [kind, this.catalogue.lists.known(kind)] as const);
      const read = known.flatMap(([kind, listing]) =>
        listing ? [[kind, listing.definitions] as const] : [],
      );
      const greeting = this.#greeting;
      const kept = { lists: new Map(read), greeting, asks: this.seats.asks };
      // A disk that cannot be written is told in `status` by the store itself; a closed one is no loss.
      this.#parts.kept.put(this.specHash, kept).catch(() => {});
    };
    queueMicrotask(() => contain(write, caught));
  }

  // --- making a connection -----------------------------------------------------------------

  #supervise(seat: Seat): Supervisor<Connection> {
    const { clock, random, events } = this.#parts;
    return new Supervisor({
      server: this.name,
      clock,
      random,
      events,
      policy: policyOf(this.config),
      connect: (generation, signal, lost) => this.#connect(seat, generation, signal, lost),
      connected: (connection) => {
        this.#greeting = connection.greeting;
        seat.subscriptions.connected(connection);
        this.#parts.connected();
      },
    });
  }

  async #connect(
    seat: Seat,
    generation: number,
    signal: AbortSignal,
    lost: ConnectionListener['lost'],
  ): Promise<Connection> {
    const startedAt = this.#parts.clock.now();
    let connection: Connection | undefined;
    const listener: ConnectionListener = {
      lost: (cause) => {
        if (connection) this.questions.lost(connection);
        lost(cause);
      },
      lastWords: (stderr) => {
        this.#lastStderr = stderr;
      },
      notification: (message, about, from) => this.#notified(seat, message, about, from),
      asked: (message, about, from) => this.questions.asked(seat, message, about, from),
      noise: (noise) => this.#countNoise(noise),
    };
    const caught = (handled: Handled, error: unknown) =>
      seat.supervisor.noteFault(this.#parts.events.defects.caught(handled, error, this.name));
    const contained = containedListener(listener, caught);
    connection = await openConnection(this, this.#parts, generation, signal, contained);
    await this.#readListsUnlessAborted(seat, connection, signal);
    this.history.started(this.#parts.clock.now() - startedAt);
    return connection;
  }

  /** Closes the connection on every way out but the one on which it is installed. */
  async #readListsUnlessAborted(
    seat: Seat,
    connection: Connection,
    signal: AbortSignal,
  ): Promise<void> {
    // What cannot be closed now is closed below, where that is waited for.
    const abort = () => void connection.close('hung').catch(ignored);
    signal.addEventListener('abort', abort);
    try {
      if (!signal.aborted && !this.#isKnown(seat)) await this.#readLists(connection);
      signal.throwIfAborted();
    } catch (error) {
      await connection.close('hung');
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** A client's own connection is to the same server: what it offers need not be read again. */
  #isKnown(seat: Seat): boolean {
    return seat.owner !== null && this.catalogue.isFresh;
  }

  async #readLists(connection: Connection): Promise<void> {
    if (this.#parts.hasClients) {
      // Read beside the tools, and waited for by whoever asks for them.
      for (const kind of listKinds) {
        if (kind !== 'tools') this.catalogue.lists.load(kind, connection).catch(notNeededNow);
      }
    }
    await this.catalogue.tryLoad(connection);
  }

  #notified(seat: Seat, message: Message, about: Exchange | undefined, from: Connection): void {
    const { method = '' } = message;
    const changed = changedLists.get(method);
    if (changed) return this.#listsChanged(changed);
    if (method === 'notifications/resources/updated') {
      return this.#parts.updated(this.name, message, seat.owner);
    }
    if (method === 'notifications/subscriptions/acknowledged') return;
    if (this.#parts.hasClients) this.questions.told(seat, message, about, from);
  }

  #listsChanged(kinds: readonly ListKind[]): void {
    for (const kind of kinds) {
      this.catalogue.changed(kind);
      this.#announced.add(kind);
      this.#parts.listChanged(this.name, kind, 'new');
    }
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
