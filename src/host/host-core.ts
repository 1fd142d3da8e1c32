// The host: one class with three interfaces, host.ts for programs that embed the library,
// gateway-face.ts for the gateway, command-face.ts for the command line. The work is done in other
// files, by subject: calling.ts, servers/server-control.ts, discovery.ts and status-reading.ts. The
// interfaces say what each method does and throws.

import type { CacheStats } from '../cache/cache.ts';
import type { LoadedConfig } from '../config/loaded.ts';
import type { ConfigPlan } from '../config/plan.ts';
import type { Config, ServerConfig } from '../config/schema.ts';
import { shortSpec } from '../config/spec-hash.ts';
import { type Clock, within } from '../kernel/clock.ts';
import type { Fault } from '../kernel/fault.ts';
import type { Defects } from '../observe/defects.ts';
import type { HostEvent } from '../observe/events.ts';
import type { OutputPage } from '../observe/server-output.ts';
import type { Traffic } from '../observe/traffic.ts';
import { type Access, type Guard, serverRequest } from '../policy/access.ts';
import type { BudgetLimits } from '../policy/budget.ts';
import { givenPrincipal } from '../policy/given-principal.ts';
import { localUser, type Principal } from '../policy/principal.ts';
import type { CountedClient } from '../policy/role-budgets/session-accounts.ts';
import type { Records, RecordsOptions } from '../store/contract/records.ts';
import type { StoreLink } from '../store/remote/store-link.ts';
import type { Lease } from '../supervise/leases.ts';
import type { AppliedConfig } from './apply.ts';
import type { Answer } from './call/answer.ts';
import { carryCall } from './call/call.ts';
import type { CallAudit } from './call/call-audit.ts';
import { toolsShownTo, unknownTool } from './call/call-faults.ts';
import type { CallObservers } from './call/call-observer.ts';
import type { CallRequest } from './call/call-parts.ts';
import { type ChargedRequest, countAgain, mayReceive } from './call/charge.ts';
import type { CallResult } from './call-result.ts';
import { Calling } from './calling.ts';
import type { HostForCommands } from './command-face.ts';
import {
  capabilitiesBehind,
  type Discovered,
  discoverAll,
  type KeptMark,
  keptMarkOf,
  knownToolNames,
  type Searched,
  searchAll,
  type ToolDefinition,
  toolDefinitions,
} from './discovery.ts';
import type { HostForGateway } from './gateway-face.ts';
import { handOver, takenCounts } from './handover/hand-over.ts';
import type { HandedHost, HandOverTo, RestoredHost, Restoring } from './handover/handed-host.ts';
import { countsFrom, type HandedCounts } from './handover/host-state.ts';
import { addCounts, restoreHost } from './handover/restore-host.ts';
import type { HostClients } from './handover/restored-clients.ts';
import type {
  ApplyOptions,
  CallOptions,
  DiscoverOptions,
  LeaseOptions,
  SearchOptions,
  ServerSpec,
  SpawnOptions,
  StatusOptions,
  ToolsOptions,
} from './host.ts';
import type { HostNews } from './host-news.ts';
import type { HostParts } from './host-parts.ts';
import { PipelineParts } from './pipeline-parts.ts';
import type { Server } from './servers/server.ts';
import { ServerControl } from './servers/server-control.ts';
import type { StartPlaces } from './servers/start-places.ts';
import { UndeclaredServers } from './servers/undeclared-servers.ts';
import type { HostStatus, ServerStatus } from './status.ts';
import { StatusReading } from './status-reading.ts';
import type { BegunTasks } from './tasks/begun-tasks.ts';

type Arguments = Readonly<Record<string, unknown>>;

/** How long the end waits for counts that a slow disk or network does not take. */
const budgetsMs = 5_000;
/** The same for outcomes of calls with a key that could not be stored before. */
const keysMs = 3_000;

export class HostCore implements HostForCommands, HostForGateway {
  /** What the call pipeline works with; for src/host and for tests. */
  readonly parts: PipelineParts;
  readonly #given: HostParts;
  readonly #calling: Calling;
  readonly #control: ServerControl;
  readonly #status: StatusReading;
  readonly #ended = new AbortController();
  #ending: Promise<void> | undefined;
  #generation = 1;
  /** What was handed over and is not used here has ended. */
  #formerEnded: Promise<void> | undefined;

  constructor(given: HostParts) {
    const parts = new PipelineParts(given);
    const undeclared = new UndeclaredServers(parts.registry, (name, [command, ...args]) =>
      given.readEntry(name, { command, args }),
    );
    this.parts = parts;
    this.#given = given;
    this.#calling = new Calling(parts, undeclared);
    this.#control = new ServerControl(parts, given.readEntry);
    this.#status = new StatusReading(parts, given);
  }

  // --- calling -----------------------------------------------------------------------------

  call(
    server: string,
    tool: string,
    args?: Arguments,
    options: CallOptions = {},
  ): Promise<CallResult> {
    return this.#calling.call(server, tool, args, options);
  }

  callRaw(
    server: string,
    tool: string,
    args: string | Uint8Array = '{}',
    options: CallOptions = {},
  ): Promise<Buffer> {
    return this.#calling.callRaw(server, tool, args, options);
  }

  callCommand(
    command: readonly string[],
    tool: string,
    args?: Arguments,
    options: CallOptions = {},
  ): Promise<CallResult> {
    return this.#calling.callCommand(command, tool, args, options);
  }

  carry(request: CallRequest): Promise<Answer> {
    return carryCall(this.parts, request);
  }

  countAgain(request: ChargedRequest, bytes: number): Promise<void> | undefined {
    return countAgain(this.parts, request, bytes);
  }

  get observers(): CallObservers {
    return this.parts.observers;
  }

  get audit(): CallAudit | null {
    return this.parts.audit;
  }

  get tasks(): BegunTasks {
    return this.parts.tasks;
  }

  // --- servers -----------------------------------------------------------------------------

  spawn(spec: ServerSpec, options: SpawnOptions = {}): Promise<string> {
    return this.#control.spawn(spec, options);
  }

  async apply(config: ApplyOptions): Promise<AppliedConfig> {
    return await this.applyLoaded(this.#given.readConfig(config));
  }

  applyLoaded(config: LoadedConfig): Promise<AppliedConfig> {
    return this.parts.live.apply(config);
  }

  planFor(config: LoadedConfig): ConfigPlan {
    return this.parts.live.planFor(config);
  }

  get config(): Config {
    return this.parts.live.now;
  }

  stop(server: string): Promise<void> {
    return this.#control.stop(server);
  }

  reload(server: string): Promise<void> {
    return this.#control.reload(server);
  }

  lease(server: string, { owner }: LeaseOptions): Promise<Lease> {
    return this.#control.lease(server, owner);
  }

  startPinned(): void {
    this.#control.startPinned();
  }

  clientGone(key: string): Promise<void> {
    this.parts.roleBudgets.clientGone(key);
    return this.#control.clientGone(key);
  }

  servers(): readonly Server[] {
    return this.parts.registry.all();
  }

  get(name: string): Server | undefined {
    return this.parts.registry.get(name);
  }

  known(name: string): Server | undefined {
    return this.parts.registry.known(name);
  }

  find(name: string): Server {
    return this.parts.find(name);
  }

  requireServer(name: string): void {
    this.#seen(name);
  }

  /** For a command: the local user may have a role, which does not see every server. */
  #seen(name: string): Server {
    this.parts.access.authorize(localUser, serverRequest('list', name));
    return this.find(name);
  }

  get places(): StartPlaces {
    return this.parts.places;
  }

  async startTurn(name: string): Promise<Disposable> {
    return await this.parts.places.enter(this.#seen(name));
  }

  // --- what exists -------------------------------------------------------------------------

  async tools(name: string, options: ToolsOptions = {}): Promise<readonly ToolDefinition[]> {
    return await toolDefinitions(this.parts, name, options);
  }

  async discover(options: DiscoverOptions = {}): Promise<readonly Discovered[]> {
    const principal = givenPrincipal(options.principal);
    return await discoverAll(this.parts, this.parts.registry.byName(), principal, options);
  }

  async search(words: string, options: SearchOptions = {}): Promise<Searched> {
    const principal = givenPrincipal(options.principal);
    return await searchAll(this.parts, this.parts.registry.byName(), principal, words, options);
  }

  async unknownTool(name: string, tool: string): Promise<Fault> {
    const server = this.#seen(name);
    await server.recall();
    const isShown = toolsShownTo(this.access, localUser, server);
    return unknownTool(server, tool, server.catalogue, isShown);
  }

  capabilitiesBehind(name: string, tool: string): readonly string[] {
    const server = this.#seen(name);
    const isShown = toolsShownTo(this.access, localUser, server);
    return isShown(tool) ? capabilitiesBehind(server, tool) : [];
  }

  async knownTools(name: string): Promise<readonly string[] | undefined> {
    const server = this.#seen(name);
    const names = await knownToolNames(server);
    return names?.filter(toolsShownTo(this.access, localUser, server));
  }

  shownEntry(name: string): Pick<ServerConfig, 'tools' | 'trusted'> {
    const server = this.#seen(name);
    const { tools, trusted } = server.config;
    const isShown = toolsShownTo(this.access, localUser, server);
    return {
      tools: Object.fromEntries(Object.entries(tools).filter(([tool]) => isShown(tool))),
      trusted,
    };
  }

  /** The fingerprint of the entry that a server has now; undefined if there is no such server. */
  specOf(name: string): string | undefined {
    const server = this.parts.registry.get(name);
    return server && shortSpec(server.config);
  }

  keptMark(name: string): KeptMark | undefined {
    const server = this.#seen(name);
    return server.catalogue.isFresh ? undefined : keptMarkOf(server);
  }

  get news(): HostNews {
    return this.parts.news;
  }

  // --- what state it is in -----------------------------------------------------------------

  status({ principal }: StatusOptions = {}): HostStatus {
    return this.#status.all(givenPrincipal(principal));
  }

  output(server: string, place: number): OutputPage {
    // What a server writes is for operators, as its events are.
    this.parts.access.authorize(localUser, serverRequest('events', server));
    const { name } = this.find(server);
    return this.parts.outputs.of(name).since(place);
  }

  serverStatus(name: string): ServerStatus {
    return this.#status.of(this.#seen(name));
  }

  setExplanation(explain: (server: string) => string | null): void {
    this.#status.explain = explain;
  }

  cacheStats(): CacheStats {
    return this.parts.cache.stats();
  }

  get workerRestarts(): number {
    return this.parts.registry.startsAgain;
  }

  events(signal?: AbortSignal): AsyncGenerator<HostEvent, void, void> {
    const until = signal ? AbortSignal.any([signal, this.#ended.signal]) : this.#ended.signal;
    const mayHear = ({ server }: HostEvent) =>
      server === '' || this.access.isAllowed(localUser, serverRequest('events', server));
    return this.#given.events.stream(until, mayHear);
  }

  onEvent(listener: (event: HostEvent) => void): Disposable {
    return this.#given.events.subscribe(listener);
  }

  get traffic(): Traffic {
    return this.parts.traffic;
  }

  mayReceive(principal: Principal, client: CountedClient, bytes: number): boolean {
    return mayReceive(this.parts, principal, client, bytes);
  }

  trafficOf({ id }: Principal): Traffic {
    return this.parts.ownTraffic.of(id);
  }

  get clock(): Clock {
    return this.parts.clock;
  }

  get defects(): Defects {
    return this.parts.defects;
  }

  get configFile(): string | null {
    return this.#given.configFile;
  }

  records(name: string, options: RecordsOptions): Records {
    return this.#given.store.records(name, options);
  }

  // --- from one serving process to the next ------------------------------------------------

  get generation(): number {
    return this.#generation;
  }

  handOver(to: HandOverTo): Promise<HandedHost> {
    const identified = () => {
      const { instance, machineNow } = this.#given;
      const { uptimeMs } = this.#status;
      const written = machineNow ? { writtenAt: machineNow() } : {};
      return { instance, generation: this.#generation, uptimeMs, ...written };
    };
    const leave = () => this.#given.leave?.() ?? Promise.resolve();
    return handOver(this.parts, identified, to, leave);
  }

  takeCounts(): HandedCounts {
    return takenCounts(this.parts);
  }

  addCounts(counts: HandedCounts): void {
    addCounts(this.parts, countsFrom(counts));
  }

  restore(restored: RestoredHost): Restoring {
    const restoring = restoreHost(this.parts, this.#given, restored);
    this.#generation = restored.state.generation + 1;
    this.#status.uptimeMs = restoring.uptimeMs;
    this.#formerEnded = restoring.ended;
    return restoring;
  }

  handOverSpent(link: StoreLink): void {
    const { roleBudgets, restoredClients } = this.parts;
    roleBudgets.handOverSessions(link, restoredClients.clients.all());
  }

  setClients(clients: HostClients): void {
    this.parts.restoredClients.clients = clients;
  }

  // --- policy ------------------------------------------------------------------------------

  get access(): Access {
    return this.parts.access;
  }

  setGuard(guard: Guard | null): void {
    this.parts.access.guard = guard;
    this.parts.news.policyChanged();
  }

  withBudget<T>(limits: BudgetLimits, run: () => T): T {
    return this.parts.budgets.withBudget(limits, run);
  }

  // --- the end -----------------------------------------------------------------------------

  close(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #end(): Promise<void> {
    const { tasks, registry, budgets, roleBudgets, deadlines, keys } = this.parts;
    this.parts.isEnding = true;
    tasks.close();
    await Promise.all([registry.endAll(), this.#formerEnded]);
    // What was read last is stored before the store is closed.
    await this.parts.kept.settled();
    this.#ended.abort();
    budgets[Symbol.dispose]();
    await within(this.parts.clock, budgetsMs, roleBudgets.close());
    await within(this.parts.clock, keysMs, keys.close());
    deadlines[Symbol.dispose]();
    await this.#given.release();
  }
}
