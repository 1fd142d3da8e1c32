// Everything that a run has running besides its clients: the servers at addresses, the gateway that
// listens, the configs of the gateways that stdio clients start, and the folder in which all of it
// leaves its evidence. What the checker has to know is written down before anything happens.

import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Dice } from '../support/dice.ts';
import { pathWithoutUnshare } from '../support/path-without-unshare.ts';
import { configOf, configure, Gateway, type GatewayHome } from './gateway.ts';
import { monotonicMs } from './history.ts';
import { Instances } from './instances/instances.ts';
import { ConfigFile } from './live-config/config-file.ts';
import { pipeBytes } from './pipe.ts';
import { spenderBudget, spenderName } from './principals/editions.ts';
import { GuardedGateway } from './principals/guarded-gateway.ts';
import { RemoteFleet } from './remote/remote-fleet.ts';
import { RolloutLog } from './rollouts/rollout-log.ts';
import {
  editedServers,
  entryOf,
  factsOf,
  lateServers,
  ownRootedServer,
  ownServers,
  principalEnds,
  principalServers,
  remoteServers,
  rootedServers,
  type ServerSpec,
  sharedEnds,
  sharedServers,
  toolNames,
  windowServers,
} from './servers.ts';
import { WebServer } from './web-server.ts';

export interface FleetOptions {
  readonly home: GatewayHome;
  readonly seed: number;
  readonly dice: Dice;
}

/** A stdio client's own servers. */
export interface Own {
  readonly name: string;
  readonly configFile: string;
  /** Where its gateway finds programs. */
  readonly path: string;
  readonly servers: readonly ServerSpec[];
  readonly rooted: ServerSpec;
}

/**
 * The second has a machine without `unshare`: nothing but the reaper ends what a killed gateway leaves.
 * Its names are transparent, so that a server can come for the name of another.
 */
const stdioClients = [
  { name: 'p1', isPoor: false },
  { name: 'p2', isPoor: true },
];

/** Of its own, so that no other gateway sweeps up at its start what this one has left. */
export function ownState(name: string): string {
  return `state-${name}`;
}

export class Fleet {
  readonly home: GatewayHome;
  readonly gateway: Gateway;
  /** The one that asks for tokens. */
  readonly guarded: GuardedGateway;
  readonly webServers: readonly WebServer[];
  readonly own: readonly Own[];
  readonly instances: Instances;
  /** Broker and orchestrator, for workers. */
  readonly remote: RemoteFleet;
  /** Of the gateway that listens. */
  readonly config: ConfigFile;
  readonly servers: readonly ServerSpec[];
  readonly rollouts: RolloutLog;
  readonly findings: string[] = [];
  /** What outlived a gateway that was killed. */
  readonly orphans: string[] = [];
  #isClosed = false;
  #visits = 0;
  #lateVisits = 0;

  private constructor(
    home: GatewayHome,
    gateway: Gateway,
    guarded: GuardedGateway,
    webServers: readonly WebServer[],
    own: readonly Own[],
    instances: Instances,
    config: ConfigFile,
    remote: RemoteFleet,
  ) {
    this.home = home;
    this.rollouts = new RolloutLog(home.folder);
    this.gateway = gateway;
    this.guarded = guarded;
    this.webServers = webServers;
    this.own = own;
    this.instances = instances;
    this.config = config;
    this.remote = remote;
    this.servers = [
      ...sharedServers,
      ...rootedServers,
      ...lateServers,
      ...editedServers,
      ...windowServers,
      ...principalServers,
      ...remoteServers,
      ...own.flatMap(({ servers, rooted }) => [...servers, rooted]),
    ];
  }

  static async start({ home, seed, dice }: FleetOptions): Promise<Fleet> {
    mkdirSync(join(home.folder, 'claims'));
    writeFileSync(join(home.folder, 'windows.jsonl'), '');
    const poorPath = pathWithoutUnshare(join(home.folder, 'bin'));
    const own = stdioClients.map(({ name, isPoor }) => {
      const servers = ownServers(name);
      const rooted = ownRootedServer(name);
      const plain = entries(home, [...servers, rooted], []);
      const configFile = isPoor
        ? configure(home, name, underOwnNames(plain), { naming: 'transparent' })
        : configure(home, name, plain);
      const path = isPoor ? poorPath : (process.env['PATH'] ?? '');
      return { name, servers, rooted, configFile, path };
    });
    const runtime = mkdtempSync(join(tmpdir(), 'hf-'));
    const ofWindows = { ...home, state: 'state-windows', runtime };
    const windowsFile = configure(ofWindows, 'windows', entries(home, windowServers, []), {
      drainMs: 1000,
    });
    const shared = [...sharedServers, ...rootedServers, ...lateServers, ...editedServers];
    const atAddress = [...shared, ...principalServers];
    const distant = atAddress.filter(({ transport }) => transport !== 'stdio');
    const webServers = await Promise.all(
      distant.map((spec) => WebServer.start(spec, home.folder, dice.of(spec.name))),
    );
    const servers = entries(home, shared, webServers);
    const configFile = configure(home, 'shared', servers);
    const config = new ConfigFile(configFile, configOf(servers));
    const closeServers = () => Promise.all(webServers.map((server) => server.close()));
    const gateway = await Gateway.start(home, configFile, sharedEnds).catch(
      async (error: unknown) => {
        await closeServers();
        throw error;
      },
    );
    const ofPrincipals = entries(home, principalServers, webServers);
    const guarded = await GuardedGateway.start({ ...home, runtime }, ofPrincipals).catch(
      async (error: unknown) => {
        await gateway.stop();
        await closeServers();
        throw error;
      },
    );
    const instances = new Instances(ofWindows, windowsFile);
    const ofWorkers = entries(home, remoteServers, []);
    const remote = await RemoteFleet.start({ ...home, runtime }, ofWorkers).catch(
      async (error: unknown) => {
        await Promise.all([gateway.stop(), guarded.gateway.stop(), closeServers()]);
        throw error;
      },
    );
    const fleet = new Fleet(home, gateway, guarded, webServers, own, instances, config, remote);
    const facts = {
      servers: fleet.servers.map(factsOf),
      pipeBytes: await pipeBytes(),
      // Servers note the time of day.
      wallOffsetMs: Date.now() - monotonicMs(),
      seed,
      build: home.build,
      hasRollouts: true,
      gateways: { 'the gateway': sharedEnds, 'the gateway of principals': principalEnds },
      budgets: { [spenderName]: { ...spenderBudget, ends: principalEnds } },
    };
    writeFileSync(join(home.folder, 'facts.json'), JSON.stringify(facts, null, 2));
    return fleet;
  }

  get folder(): string {
    return this.home.folder;
  }

  /** A server that asks for roots; in turn, so that each is met for the first time as long as there are any. */
  nextRooted(): ServerSpec {
    const at = this.#visits % rootedServers.length;
    this.#visits += 1;
    const spec = rootedServers[at];
    if (spec === undefined) throw new Error('there is no server that asks for roots');
    return spec;
  }

  /** One for clients that tell their roots late; in turn as well. */
  nextLate(): ServerSpec {
    const at = this.#lateVisits % lateServers.length;
    this.#lateVisits += 1;
    const spec = lateServers[at];
    if (spec === undefined) throw new Error('there is no server for late clients');
    return spec;
  }

  get claims(): string {
    return join(this.folder, 'claims');
  }

  /** Something that has to be answered for, in one line. */
  readonly report = (finding: string): void => {
    this.findings.push(finding);
  };

  readonly outlived = (orphan: string): void => {
    this.orphans.push(orphan);
  };

  /** Ends the gateways, then the servers at addresses. */
  async close(): Promise<void> {
    for (const gateway of [this.gateway, this.guarded.gateway]) {
      const code = await gateway.stop();
      if (code !== 0 && !this.#isClosed) this.report(`a gateway ended with ${code}, not with 0`);
    }
    this.#isClosed = true;
    await this.remote.close(this.report);
    await this.instances.close();
    await Promise.all(this.webServers.map((server) => server.close()));
  }
}

/** The same names as clients see elsewhere, each given to its tool by the operator. */
function underOwnNames(servers: Readonly<Record<string, object>>): object {
  const renamed = (server: string, entry: object) => {
    const { tools } = entry as { readonly tools: Readonly<Record<string, object>> };
    const named = toolNames.map((tool) => [tool, { ...tools[tool], as: `${server}__${tool}` }]);
    return { ...entry, tools: Object.fromEntries(named) };
  };
  return Object.fromEntries(
    Object.entries(servers).map(([server, entry]) => [server, renamed(server, entry)]),
  );
}

function entries(
  { folder }: GatewayHome,
  specs: readonly ServerSpec[],
  webServers: readonly WebServer[],
): Readonly<Record<string, object>> {
  const urls = new Map(webServers.map(({ name, url }) => [name, url]));
  return Object.fromEntries(
    specs.map((spec) => [spec.name, entryOf(spec, folder, urls.get(spec.name))]),
  );
}
