// The parts that the call pipeline uses, created once for each host: clocks, budgets, the cache,
// the servers by name and what they report to. Only src/host sees them; the gateway, the commands
// and programs that embed the library have interfaces of their own (gateway-face.ts,
// command-face.ts, host.ts).

import { ResponseCache } from '../cache/cache.ts';
import { Flights } from '../cache/coalesce.ts';
import { SharedEpochs } from '../cache/shared-epochs.ts';
import { SharedResults } from '../cache/shared-results.ts';
import { storeSecrets } from '../config/secrets.ts';
import type { Clock } from '../kernel/clock.ts';
import { Deadlines } from '../kernel/deadlines.ts';
import { Fault } from '../kernel/fault.ts';
import { Redactor } from '../kernel/redactor.ts';
import type { Defects } from '../observe/defects.ts';
import { ServerOutputs } from '../observe/server-output.ts';
import { Traffic } from '../observe/traffic.ts';
import { TrafficByPrincipal } from '../observe/traffic-by-principal.ts';
import { Access, serverRequest } from '../policy/access.ts';
import { Budgets } from '../policy/budget.ts';
import { IdempotencyKeys } from '../policy/idempotency.ts';
import { KeyedMemory } from '../policy/keyed-memory.ts';
import { localUser, type Principal } from '../policy/principal.ts';
import { RoleBudgets } from '../policy/role-budgets/role-budgets.ts';
import type { Records } from '../store/contract/records.ts';
import { LiveConfig } from './apply.ts';
import { CallAudit } from './call/call-audit.ts';
import { CallEvents } from './call/call-events.ts';
import { CallObservers } from './call/call-observer.ts';
import type { CallParts } from './call/call-parts.ts';
import { CallTraffic } from './call/call-traffic.ts';
import { recordsUntil } from './handover/records-until.ts';
import { RestoredClients } from './handover/restored-clients.ts';
import { HostNews } from './host-news.ts';
import type { HostParts } from './host-parts.ts';
import { isKeptRecord, KeptCatalogues, keptVersion } from './lists/kept-catalogues.ts';
import { AllSecrets } from './servers/all-secrets.ts';
import { containedClock } from './servers/contained-edges.ts';
import { IdlePool } from './servers/idle-pool.ts';
import { Registry } from './servers/registry.ts';
import type { Server } from './servers/server.ts';
import { factsVersion, isFacts } from './servers/server-facts.ts';
import type { ServerParts } from './servers/server-parts.ts';
import { isStartRecord } from './servers/start-history.ts';
import { placesFor, StartPlaces } from './servers/start-places.ts';
import { BegunTasks } from './tasks/begun-tasks.ts';

const forgetful = { durability: 'forgetful' } as const;

export class PipelineParts implements CallParts {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly access = new Access();
  readonly budgets: Budgets;
  readonly roleBudgets: RoleBudgets;
  readonly cache: ResponseCache;
  readonly flights = new Flights<Buffer>();
  readonly sharedResults: SharedResults | undefined;
  readonly keys: IdempotencyKeys;
  readonly observers: CallObservers;
  readonly audit: CallAudit | null;
  /** Every request, counted once. */
  readonly traffic: Traffic;
  readonly ownTraffic: TrafficByPrincipal;
  readonly pool: IdlePool;
  readonly places: StartPlaces;
  /** The stored lists of servers. */
  readonly kept: KeptCatalogues;
  readonly news: HostNews;
  readonly defects: Defects;
  readonly tasks: BegunTasks;
  /** What the processes of servers have written that is not MCP. */
  readonly outputs: ServerOutputs;
  readonly registry: Registry;
  readonly live: LiveConfig;
  readonly #epochs: SharedEpochs | undefined;
  /** Clients of the process before this one, of which connections know. */
  readonly restoredClients = new RestoredClients();
  /** The next process has what is learnt and stored of servers: it is not written here any more. */
  isHandedOver = false;
  /** Set when the host begins to shut down: from then on no server is found. */
  isEnding = false;

  constructor(given: HostParts) {
    const { config, events } = given;
    this.defects = events.defects;
    this.clock = containedClock(given.edges.clock, (error) => {
      this.defects.caught('a timer', error);
    });
    this.news = new HostNews((error, server) => {
      this.defects.caught('news for clients', error, server);
    });
    this.deadlines = new Deadlines(this.clock);
    this.budgets = new Budgets(this.clock);
    this.roleBudgets = new RoleBudgets({
      clock: this.clock,
      records: given.spent,
      isShared: given.isSpentShared,
      caught: (error) => this.defects.caught('the budget of a role', error),
    });
    this.cache = new ResponseCache(this.clock, config.cache, (server) => {
      this.#epochs?.invalidated(server);
    });
    const keyed = given.keyed ?? new KeyedMemory(this.clock);
    // A store that refuses reports that itself.
    this.keys = new IdempotencyKeys(keyed, () => {});
    this.traffic = new Traffic(this.clock);
    this.ownTraffic = new TrafficByPrincipal(this.clock);
    this.observers = new CallObservers(
      [
        new CallTraffic(this.clock, this.traffic, this.ownTraffic),
        new CallEvents(this.clock, events),
      ],
      (error) => this.defects.caught('an observer of calls', error),
    );
    this.audit = this.#auditOf(given);
    // Which sees what the gateway answers itself.
    if (this.audit) this.observers.add(this.audit);
    this.tasks = new BegunTasks(this.clock, (news) => this.news.task(news));
    this.pool = new IdlePool(config.maxIdle, () => this.registry.slots());
    this.places = new StartPlaces(this.clock, placesFor(given.processors ?? 1));
    this.outputs = new ServerOutputs(() => this.clock.wallNow());
    this.kept = new KeptCatalogues(
      this.#untilHandedOver(
        given.store.records('catalogues', {
          ...forgetful,
          shape: isKeptRecord,
          version: keptVersion,
        }),
      ),
      this.clock,
    );
    this.registry = new Registry({
      ...given,
      server: this.#serverParts(given),
      news: this.news,
      ended: (name) => {
        this.traffic.serverGone(name);
        this.ownTraffic.serverGone(name);
        this.defects.forget(name);
        // One that was replaced goes on under its name.
        if (this.registry.get(name) === undefined) this.outputs.forget(name);
      },
    });
    this.live = new LiveConfig(given, this);
    this.#epochs = this.#sharedEpochs(given);
    this.sharedResults = this.#resultsOf(given);
  }

  #sharedEpochs({ sharedResults }: HostParts): SharedEpochs | undefined {
    if (sharedResults === undefined) return undefined;
    return new SharedEpochs({
      clock: this.clock,
      records: sharedResults.epochs,
      servers: () => this.registry.all().map(({ name }) => name),
      told: (server) => this.cache.drop(server),
      caught: (error) => this.defects.caught('the shared results', error),
    });
  }

  #resultsOf({ sharedResults }: HostParts): SharedResults | undefined {
    const epochs = this.#epochs;
    if (sharedResults === undefined || epochs === undefined) return undefined;
    const { place } = sharedResults;
    const caught = (error: unknown) => void this.defects.caught('the shared results', error);
    return new SharedResults({ clock: this.clock, place, epochs, caught });
  }

  #auditOf({ audit, instance, config }: HostParts): CallAudit | null {
    if (audit === undefined) return null;
    const own = new Redactor(storeSecrets(config.store));
    const secrets = new AllSecrets(() => [own, ...this.registry.all().map((one) => one.redactor)]);
    const redact = (text: string, isCut: boolean) =>
      isCut ? secrets.redactor.cut(text) : secrets.redactor.text(text);
    const roleOf = (principal: Principal) => this.access.roleOf(principal);
    const process = audit.process ?? instance;
    return new CallAudit({ ...audit, clock: this.clock, process, redact, roleOf });
  }

  #serverParts({ edges, events, identity, hasClients, store }: HostParts): ServerParts {
    return {
      ...edges,
      clock: this.clock,
      events,
      outputs: this.outputs,
      identity,
      hasClients,
      facts: this.#untilHandedOver(
        store.records('verdicts', { ...forgetful, shape: isFacts, version: factsVersion }),
      ),
      kept: this.kept,
      starts: this.#untilHandedOver(
        store.records('starts', { ...forgetful, shape: isStartRecord }),
      ),
      restoredClients: this.restoredClients,
      clientsTold: (name) => this.cache.invalidate(name),
      toolsChanged: (name, tools) => {
        for (const tool of tools) this.cache.invalidate(name, `tool:${tool}`);
      },
      connected: (connected) => {
        this.pool.arrived();
        this.places.connected(connected);
      },
      listChanged: (name, kind, change) => this.news.listChanged(name, kind, change),
      updated: (name, message, audience) => this.news.updated(name, message, audience),
      tasks: this.tasks,
    };
  }

  #untilHandedOver(records: Records): Records {
    return recordsUntil(records, () => this.isHandedOver);
  }

  find(name: string, principal: Principal = localUser): Server {
    this.assertOpen(name);
    return this.registry.find(name, this.namesFor(principal));
  }

  /** Which names of servers this principal may be told. */
  namesFor(principal: Principal): (server: string) => boolean {
    return (server) => this.access.isAllowed(principal, serverRequest('list', server));
  }

  /** Throws `draining` once the host is ending. */
  assertOpen(server: string): void {
    if (this.isEnding) throw new Fault('draining', 'the host is shutting down', { server });
  }
}
