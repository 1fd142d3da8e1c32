// The clients of one storm: over HTTP in both eras and of several classes, all of them at one gateway,
// and over stdio: some with a gateway of their own, and windows, which share an instance.

import type { Client } from './client.ts';
import { HttpClient } from './client-http.ts';
import { StdioClient } from './client-stdio.ts';
import { classes } from './dialects.ts';
import { type Fleet, ownState } from './fleet.ts';
import { startConnect, startStdio } from './gateway.ts';
import { History } from './history.ts';
import { workersOf } from './remote/workers.ts';
import { type ServerSpec, sharedServers, windowServers } from './servers.ts';
import { survivors } from './survivors.ts';
import type { Tally } from './tally.ts';

export interface ClientRow {
  readonly name: string;
  readonly client: Client;
  /** Has it a gateway of its own? */
  readonly hasGateway: boolean;
  /** Whose that is. */
  readonly owner?: string;
  /** Does it share an instance that may end at any time? */
  readonly isWindow?: boolean;
  /** Is it a worker, whose broker and orchestrator may end at any time? */
  readonly isWorker?: boolean;
  /** Those that it can reach and that anybody may call. */
  readonly servers: readonly ServerSpec[];
  /** The one that asks for its roots. */
  readonly rooted?: ServerSpec;
}

const httpClientsPerEra = 5;
const windowCount = 3;

export class Clients {
  /** Two of those that share the gateway. */
  readonly shared: readonly [ClientRow, ClientRow];
  readonly rows: readonly ClientRow[];

  private constructor(rows: readonly ClientRow[]) {
    this.rows = rows;
    const [first, second] = rows;
    if (first === undefined || second === undefined) throw new Error('too few clients');
    this.shared = [first, second];
  }

  static async open(storm: string, fleet: Fleet, tally: Tally): Promise<Clients> {
    const clients = new Clients([
      ...httpClients(storm, fleet, tally),
      ...stdioClients(storm, fleet, tally),
      ...windows(storm, fleet, tally),
      ...workersOf(storm, fleet, tally),
    ]);
    await Promise.all(clients.all.map((client) => client.open()));
    return clients;
  }

  /** Those with a gateway of their own. */
  get mortal(): readonly StdioClient[] {
    return this.rows.flatMap(({ client, hasGateway }) =>
      hasGateway && client instanceof StdioClient ? [client] : [],
    );
  }

  /** The same, with the names of the gateways' configs. */
  get owners(): readonly { readonly owner: string; readonly client: StdioClient }[] {
    return this.rows.flatMap(({ client, owner }) =>
      owner !== undefined && client instanceof StdioClient ? [{ owner, client }] : [],
    );
  }

  get windows(): readonly ClientRow[] {
    return this.rows.filter(({ isWindow }) => isWindow === true);
  }

  get workers(): readonly ClientRow[] {
    return this.rows.filter(({ isWorker }) => isWorker === true);
  }

  get all(): readonly Client[] {
    return this.rows.map(({ client }) => client);
  }

  async leave(boundMs: number): Promise<void> {
    await Promise.all(this.all.map((client) => client.leave(boundMs)));
  }
}

function httpClients(storm: string, fleet: Fleet, tally: Tally): readonly ClientRow[] {
  const { url } = fleet.gateway;
  return Array.from({ length: httpClientsPerEra }, (_, at) =>
    (['modern', 'legacy'] as const).map((era) => {
      const name = `${storm}-${era}-${at + 1}`;
      const history = new History(fleet.folder, name);
      const capabilities = classes[at % classes.length] ?? {};
      return {
        name,
        client: new HttpClient({ url, era, history, tally, capabilities }),
        hasGateway: false,
        servers: sharedServers,
      };
    }),
  ).flat();
}

function stdioClients(storm: string, fleet: Fleet, tally: Tally): readonly ClientRow[] {
  const { home, folder, report, outlived } = fleet;
  return fleet.own.map(({ name: owner, configFile, path, servers, rooted }) => {
    const name = `${storm}-${owner}`;
    const state = ownState(owner);
    const start = (life: string) =>
      startStdio({ ...home, mark: `${home.mark}-${life}`, state }, configFile, path);
    const left = (life: string) => survivors({ ...home, mark: `${home.mark}-${life}.` }, 'mark');
    const client = new StdioClient({ name, folder, tally, start, left, report, outlived });
    return { name, client, hasGateway: true, owner, servers, rooted };
  });
}

function windows(storm: string, fleet: Fleet, tally: Tally): readonly ClientRow[] {
  const { folder, report, outlived, instances } = fleet;
  return Array.from({ length: windowCount }, (_, at) => {
    const name = `${storm}-window-${at + 1}`;
    const start = () => startConnect(instances.home, instances.configFile);
    const left = async () => [];
    const gateway = 'the instances';
    const client = new StdioClient({ name, folder, tally, gateway, start, left, report, outlived });
    return { name, client, hasGateway: false, isWindow: true, servers: windowServers };
  });
}
