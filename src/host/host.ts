// The host: every server a user has, under supervision, behind one object. It registers, starts,
// stops and reloads servers, answers what exists and what state it is in, and sends every call
// through the one pipeline. It is the library's face; the command line and the gateway stand on it.

import { type CacheStats, ResponseCache } from '../cache/cache.ts';
import { Flights } from '../cache/coalesce.ts';
import type { JsonObject } from '../catalog/tool.ts';
import type { Config, ServerConfig } from '../config/schema.ts';
import type { Clock } from '../kernel/clock.ts';
import { Deadlines } from '../kernel/deadlines.ts';
import { durationFrom } from '../kernel/duration.ts';
import { Fault, faultFrom } from '../kernel/fault.ts';
import type { Defects } from '../observe/defects.ts';
import type { EventHub, HostEvent } from '../observe/events.ts';
import { Traffic } from '../observe/traffic.ts';
import { Access, type Guard, serverRequest } from '../policy/access.ts';
import { type BudgetLimits, Budgets } from '../policy/budget.ts';
import { disclosedFault } from '../policy/disclosure.ts';
import { IdempotencyKeys } from '../policy/idempotency.ts';
import { KeyedMemory } from '../policy/keyed-memory.ts';
import { localUser, type Principal } from '../policy/principal.ts';
import type { Records, RecordsOptions } from '../store/contract/records.ts';
import type { Store } from '../store/store.ts';
import type { Lease } from '../supervise/leases.ts';
import type { Identity } from '../upstream/negotiate.ts';
import { type Answer, resultBytes } from './call/answer.ts';
import { argumentsFromText, argumentsFromValue } from './call/arguments.ts';
import { carryCall } from './call/call.ts';
import { CallEvents } from './call/call-events.ts';
import { CallObservers } from './call/call-observer.ts';
import type { CallParts, CallRequest } from './call/call-parts.ts';
import { CallTraffic } from './call/call-traffic.ts';
import { toolCall } from './call/operation.ts';
import {
  type Discovered,
  type DiscoverOptions,
  discoverAll,
  type KeptMark,
  keptMarkOf,
  keptTools,
  type Searched,
  searchAll,
  toolsOf,
} from './discovery.ts';
import { HostNews } from './host-news.ts';
import { isKeptRecord, KeptCatalogues } from './lists/kept-catalogues.ts';
import { containedClock } from './servers/contained-edges.ts';
import { IdlePool } from './servers/idle-pool.ts';
import { Registry } from './servers/registry.ts';
import type { Edges, Server, ServerParts } from './servers/server.ts';
import { isFacts } from './servers/server-facts.ts';
import { isStartRecord } from './servers/start-history.ts';
import { placesFor, StartPlaces } from './servers/start-places.ts';
import { UndeclaredServers } from './servers/undeclared-servers.ts';
import { disabledStatus, type HostStatus, serverStatus } from './status.ts';
import { BegunTasks } from './tasks/begun-tasks.ts';

/** A tool's answer as MCP defines it; what we do not know of it is kept as it came. */
export interface CallResult {
  readonly content?: readonly unknown[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
  readonly [key: string]: unknown;
}

export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
  readonly [key: string]: unknown;
}

export interface CallOptions {
  /**
   * Gives up: the server is told. With an idempotency key the call is prevented only while it has
   * not left us; afterwards it goes on, and its answer is kept for whoever uses the key again.
   */
  readonly signal?: AbortSignal;
  /** Above 0; more than 2^31 - 1 counts as that. */
  readonly timeoutMs?: number;
  readonly onProgress?: (progress: Progress) => void;
  readonly principal?: Principal;
  /** 1 to 255 characters. */
  readonly idempotencyKey?: string;
}

/** What a server is; the options are the other keys of its config entry. */
export type ServerSpec = { readonly name: string } & Readonly<Record<string, unknown>>;

export interface HostParts {
  readonly edges: Edges;
  readonly config: Config;
  readonly configFile: string | null;
  readonly disabled: ReadonlyMap<string, string>;
  readonly store: Store;
  readonly identity: Identity;
  readonly instance: string;
  readonly startedBy: string;
  readonly events: EventHub;
  /** Do clients stand behind this host (a gateway): is everything carried, may servers ask back? */
  readonly hasClients: boolean;
  /** How many processors this machine has; lists start so many servers at once as they can bear. */
  readonly processors?: number;
  /** Reads one server's entry by the rules of the config file. */
  readonly readEntry: (name: string, entry: Readonly<Record<string, unknown>>) => ServerConfig;
  /** Ends what the host was given, after its servers have ended. */
  readonly release: () => Promise<void>;
}

export class Host implements CallParts, AsyncDisposable {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly budgets: Budgets;
  readonly cache: ResponseCache;
  readonly flights = new Flights<Buffer>();
  readonly keys: IdempotencyKeys;
  readonly observers: CallObservers;
  /** Every request, counted once. */
  readonly traffic: Traffic;
  readonly pool: IdlePool;
  readonly places: StartPlaces;
  /** What clients of a gateway have to be told. */
  readonly news: HostNews;
  /** Errors of our own, contained where they were met. */
  readonly defects: Defects;
  readonly tasks: BegunTasks;
  /** Who may do what. */
  readonly access = new Access();
  readonly #parts: HostParts;
  readonly #registry: Registry;
  readonly #undeclared: UndeclaredServers;
  readonly #startedAt: number;
  readonly #ended = new AbortController();
  #explain: (server: string) => string | null = () => null;
  #ending: Promise<void> | undefined;

  constructor(parts: HostParts) {
    const { config, events, store } = parts;
    this.#parts = parts;
    this.defects = events.defects;
    this.clock = containedClock(parts.edges.clock, (error) => {
      this.defects.caught('a timer', error);
    });
    const edges = { ...parts.edges, clock: this.clock };
    this.news = new HostNews((error, server) => {
      this.defects.caught('news for clients', error, server);
    });
    this.deadlines = new Deadlines(edges.clock);
    this.#startedAt = edges.clock.now();
    this.budgets = new Budgets(edges.clock);
    this.cache = new ResponseCache(edges.clock, config.cache);
    this.keys = new IdempotencyKeys(new KeyedMemory(edges.clock), () => {});
    this.traffic = new Traffic(edges.clock);
    this.observers = new CallObservers(
      [new CallTraffic(edges.clock, this.traffic), new CallEvents(edges.clock, events)],
      (error) => this.defects.caught('an observer of calls', error),
    );
    this.tasks = new BegunTasks(edges.clock, (news) => this.news.task(news));
    this.pool = new IdlePool(config.maxIdle, () => this.#registry.slots());
    this.places = new StartPlaces(edges.clock, placesFor(parts.processors ?? 1));
    const server: ServerParts = {
      ...edges,
      events,
      identity: parts.identity,
      hasClients: parts.hasClients,
      facts: store.records('verdicts', { durability: 'forgetful', shape: isFacts }),
      kept: new KeptCatalogues(
        store.records('catalogues', { durability: 'forgetful', shape: isKeptRecord }),
        edges.clock,
      ),
      starts: store.records('starts', { durability: 'forgetful', shape: isStartRecord }),
      clientsTold: (name) => this.cache.invalidate(name),
      toolsChanged: (name, tools) => {
        for (const tool of tools) this.cache.invalidate(name, `tool:${tool}`);
      },
      connected: (connected) => {
        this.pool.arrived();
        this.places.connected(connected);
      },
      listChanged: (name, kind, change) => this.news.listChanged(name, kind, change),
      updated: (name, message, owner) => this.news.updated(name, message, owner),
      tasks: this.tasks,
    };
    this.#registry = new Registry({ ...parts, server });
    this.#undeclared = new UndeclaredServers(this.#registry, (name, [command, ...args]) =>
      parts.readEntry(name, { command, args }),
    );
    for (const [name, entry] of Object.entries(config.mcpServers)) this.#registry.add(name, entry);
  }

  // --- calling -----------------------------------------------------------------------------

  /** Calls a tool. An `isError` result is returned, not thrown; anything else throws a Fault. */
  async call(
    server: string,
    tool: string,
    args?: Readonly<Record<string, unknown>>,
    options: CallOptions = {},
  ): Promise<CallResult> {
    const bytes = await this.#call(server, tool, argumentsFromValue(args), options);
    return JSON.parse(bytes.toString('utf8')) as CallResult;
  }

  /** The same with the arguments as JSON text, giving the result's bytes as the server wrote them. */
  async callRaw(
    server: string,
    tool: string,
    args: string | Uint8Array = '{}',
    options: CallOptions = {},
  ): Promise<Buffer> {
    return this.#call(server, tool, argumentsFromText(args), options);
  }

  #call(
    server: string,
    tool: string,
    args: string | Buffer,
    options: CallOptions,
  ): Promise<Buffer> {
    const { principal = localUser, onProgress, signal, timeoutMs, idempotencyKey } = options;
    return carryCall(this, {
      principal,
      server,
      operation: toolCall(tool, args),
      signal,
      timeoutMs: timeoutMs === undefined ? undefined : durationFrom(timeoutMs, 'timeoutMs'),
      idempotencyKey,
      onProgress: onProgress && ((params) => onProgress(JSON.parse(params.toString('utf8')))),
    }).then(resultBytes, (thrown) => {
      throw disclosedFault(faultFrom(thrown), principal);
    });
  }

  /** Any request to any server, through the one pipeline; for the faces that carry bytes. */
  carry(request: CallRequest): Promise<Answer> {
    return carryCall(this, request);
  }

  /** Calls a tool of a server that is not in the config; its process is kept in the idle pool. */
  async callCommand(
    command: readonly string[],
    tool: string,
    args?: Readonly<Record<string, unknown>>,
    options: CallOptions = {},
  ): Promise<CallResult> {
    if (!command[0]) {
      throw new Fault(
        'invalid_request',
        'the command is empty; give it as a list: [program, ...args]',
      );
    }
    const { principal = localUser } = options;
    if (principal !== localUser) {
      throw new Fault('denied', 'a command is run for the local user only; declare a server');
    }
    const text = argumentsFromValue(args);
    const bytes = await this.#undeclared.use(command, (name) =>
      this.#call(name, tool, text, options),
    );
    return JSON.parse(bytes.toString('utf8')) as CallResult;
  }

  // --- servers -----------------------------------------------------------------------------

  /**
   * Registers a server, replacing one of the same name. Without `lazy` it is started at once, kept
   * for good, and must come up. Returns its name.
   */
  async spawn(spec: ServerSpec, options: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const { name, ...entry } = spec;
    if (typeof name !== 'string') {
      throw new Fault('invalid_request', 'the spec must include a `name` field');
    }
    if (name === '') throw new Fault('invalid_request', '`name` must be a non-empty string');
    this.access.authorize(localUser, serverRequest('spawn', name));
    const config = this.#parts.readEntry(name, { lazy: false, ...entry, ...options });
    this.cache.invalidate(name);
    const server = await this.#registry.replace(name, config, () => this.#assertOpen(name));
    if (config.lazy) return name;
    try {
      const lease = await server.supervisor.lease('spawn');
      lease.release();
    } catch (error) {
      await this.#registry.remove(server);
      throw error;
    }
    return name;
  }

  /** In the order of the config. */
  servers(): readonly Server[] {
    return this.#registry.all();
  }

  /** A client of the gateway is gone: what servers kept for it alone ends. */
  async clientGone(key: string): Promise<void> {
    this.tasks.clientGone(key);
    await Promise.all(this.servers().map(({ slots }) => slots.release(key)));
  }

  /** Starts every server that is not lazy, without waiting for any. */
  startPinned(): void {
    for (const { config, supervisor } of this.#registry.all()) {
      if (!config.lazy) supervisor.want();
    }
  }

  /** Ends its process and forgets its past; a later call starts it again. */
  async stop(name: string): Promise<void> {
    this.access.authorize(localUser, serverRequest('stop', name));
    const server = this.#registry.hosted(name);
    this.cache.invalidate(name);
    await Promise.all([...server.slots.all()].map(({ supervisor }) => supervisor.stop()));
  }

  /** Ends its process, clears an ejection, forgets cached results; it comes back when needed. */
  async reload(name: string): Promise<void> {
    this.access.authorize(localUser, serverRequest('reload', name));
    const server = this.#registry.hosted(name);
    this.cache.invalidate(name);
    server.offerings.forget();
    await Promise.all([...server.slots.all()].map(({ supervisor }) => supervisor.reload()));
  }

  /** Keeps a server open for an owner until the lease is released. */
  async lease(name: string, { owner }: { readonly owner: string }): Promise<Lease> {
    this.access.authorize(localUser, serverRequest('lease', name));
    const { supervisor } = this.find(name);
    const pass = supervisor.gate();
    try {
      return await supervisor.lease(owner);
    } finally {
      // Being there says nothing about how calls go: if this had the probe's place, it is given back.
      supervisor.breaker.withdrawn(pass);
    }
  }

  /** The server of this name, if there is one. */
  get(name: string): Server | undefined {
    return this.#registry.get(name);
  }

  /** The server of this name; throws `not_found`, or why it cannot be used. */
  find(name: string): Server {
    this.#assertOpen(name);
    return this.#registry.find(name);
  }

  #assertOpen(server: string): void {
    if (this.#ending === undefined) return;
    throw new Fault('draining', 'the host is shutting down', { server });
  }

  // --- what exists -------------------------------------------------------------------------

  /**
   * A server's tool definitions as it gave them, each with the name of its server. With `kept` they
   * are as a gateway has last read them, and the server is asked only if there is no such list.
   */
  async tools(
    name: string,
    options: { readonly principal?: Principal; readonly kept?: boolean } = {},
  ): Promise<readonly JsonObject[]> {
    const { principal = localUser, kept = false } = options;
    this.access.authorize(principal, serverRequest('list', name));
    const server = this.find(name);
    const reading = kept
      ? keptTools(this, server, principal).then((read) => read.tools)
      : toolsOf(this, server, principal);
    const tools = await reading.catch((thrown) => {
      throw disclosedFault(faultFrom(thrown), principal);
    });
    return tools.map(({ definition }) => ({ _mcp_server: name, ...definition }));
  }

  /** When the tools of this server that are known were read, if not by this host. */
  keptMark(name: string): KeptMark | undefined {
    const server = this.find(name);
    return server.catalogue.isFresh ? undefined : keptMarkOf(server);
  }

  /** Every tool of every server, in the order of the names; a failing server is one entry. */
  discover(
    options: DiscoverOptions & { readonly principal?: Principal } = {},
  ): Promise<readonly Discovered[]> {
    return discoverAll(this, this.#registry.byName(), options.principal ?? localUser, options);
  }

  /** The tools that fit the words best, across all servers. */
  search(
    words: string,
    options: {
      readonly limit?: number;
      readonly principal?: Principal;
      readonly kept?: boolean;
    } = {},
  ): Promise<Searched> {
    const { principal = localUser, limit, kept } = options;
    return searchAll(this, this.#registry.byName(), principal, words, { limit, kept });
  }

  // --- what state it is in -----------------------------------------------------------------

  /** What state the servers are in that this principal may know of; the local user if none is named. */
  status({ principal = localUser }: { readonly principal?: Principal } = {}): HostStatus {
    const { identity, instance, startedBy, configFile, disabled, store } = this.#parts;
    const moment = { now: this.clock.now(), wallNow: this.clock.wallNow() };
    const mayKnow = ({ name }: { readonly name: string }) =>
      this.access.isAllowed(principal, serverRequest('status', name));
    const running = this.#registry
      .byName()
      .filter(mayKnow)
      .map((server) => {
        const entries = this.cache.entriesOf(server.name);
        return serverStatus(server, entries, moment, this.#explain(server.name));
      });
    const off = [...disabled].map(([name, cause]) => disabledStatus(name, cause)).filter(mayKnow);
    return {
      version: identity.version,
      instance,
      startedBy,
      config: configFile,
      uptimeMs: Math.round(moment.now - this.#startedAt),
      rollout: 'stable',
      disk: store.health(),
      servers: [...running, ...off].sort((a, b) => (a.name < b.name ? -1 : 1)),
      cache: this.cache.stats(),
      calls: this.traffic.calls,
      internalErrors: this.defects.total,
    };
  }

  /** Starts of servers beyond their first; never goes back. */
  get workerRestarts(): number {
    return this.#registry.startsAgain;
  }

  /** A face that has more to say about a server than its state: one line, or null. */
  setExplanation(explain: (server: string) => string | null): void {
    this.#explain = explain;
  }

  get configFile(): string | null {
    return this.#parts.configFile;
  }

  /** Room in the host's store, for a face that keeps something of its own. */
  records(name: string, options: RecordsOptions): Records {
    return this.#parts.store.records(name, options);
  }

  cacheStats(): CacheStats {
    return this.cache.stats();
  }

  /** Everything that happens from now on, until the host ends or the signal aborts. */
  events(signal?: AbortSignal): AsyncGenerator<HostEvent, void, void> {
    const until = signal ? AbortSignal.any([signal, this.#ended.signal]) : this.#ended.signal;
    const mayHear = ({ server }: HostEvent) =>
      server === '' || this.access.isAllowed(localUser, serverRequest('events', server));
    return this.#parts.events.stream(until, mayHear);
  }

  /** The same without a queue between: the listener is called at once, and must not throw. */
  onEvent(listener: (event: HostEvent) => void): Disposable {
    return this.#parts.events.subscribe(listener);
  }

  // --- policy ------------------------------------------------------------------------------

  /** Asked before everything that a principal does, sees or hears; null lets the local user do everything. */
  setGuard(guard: Guard | null): void {
    this.access.guard = guard;
  }

  /** Runs the work under ceilings; calls made from inside it are charged, cache hits too. */
  withBudget<T>(limits: BudgetLimits, run: () => T): T {
    return this.budgets.withBudget(limits, run);
  }

  // --- the end -----------------------------------------------------------------------------

  /** Ends all servers and waits until nothing of them is left. A second call joins the first. */
  close(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #end(): Promise<void> {
    this.tasks.close();
    await this.#registry.endAll();
    this.#ended.abort();
    this.budgets[Symbol.dispose]();
    this.deadlines[Symbol.dispose]();
    await this.#parts.release();
  }
}
