// The world of a rollout's proof: an instance that serves HTTP and windows of `connect`, two gateways that serve one
// client each at their pipes, the servers of all three with the ledgers that they write, and the load of all clients.

import { join } from 'node:path';
import { faultyHttp, faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { newFolder } from '../support/sqlite-place.ts';
import { legacyClient, modernClient } from './clients/http.ts';
import { Caller, type LoadClient } from './clients/load-client.ts';
import { officialHttp, officialProcess } from './clients/official.ts';
import { RawStdio } from './clients/raw-stdio.ts';
import { History } from './history.ts';
import { type Instance, served } from './instance.ts';
import { Orders, type Taste } from './orders.ts';

export interface Files {
  readonly ledger: string;
  /** Of each server of each gateway a list of its starts. */
  readonly starts: ReadonlyMap<string, string>;
}

export interface World extends AsyncDisposable {
  readonly home: GatewayHome;
  readonly homes: readonly GatewayHome[];
  readonly instance: Instance;
  readonly history: History;
  readonly files: Files;
  /** The processes that the clients have started, or a service manager: each stays through all rollouts. */
  readonly holders: ReadonlyMap<string, number>;
  /** Each client has had an answer to everything that it will ask: all servers run that are needed. */
  warm(): Promise<void>;
  /** The clients ask from now on. */
  begin(): void;
  /** They stop, and what they have asked has ended. */
  rest(): Promise<void>;
}

export interface WorldSize {
  /** Calls of all clients in a second. */
  readonly rate: number;
}

interface Loaded {
  readonly client: LoadClient;
  readonly taste: Taste;
}

const local = ['own', 'remote'];
const quick: Taste = { isAsked: false, longEvery: 40, servers: local };
const asked: Taste = { isAsked: true, longEvery: 40, servers: local };

export async function openWorld({ rate }: WorldSize): Promise<World> {
  const ends: (() => PromiseLike<unknown>)[] = [];
  const opened = {
    use: <T extends AsyncDisposable>(one: T): T => {
      ends.push(() => one[Symbol.asyncDispose]());
      return one;
    },
  };
  const close = async () => {
    for (const end of ends.splice(0).reverse()) await end();
  };
  const history = new History();
  const folder = newFolder();
  const ledger = join(folder, 'ledger');
  const starts = new Map<string, string>();
  const files = { ledger, starts };
  const remote = opened.use(await faultyHttp({ ledger }));
  const homeOf = async (name: string) => {
    const local = (server: string) => {
      const file = join(folder, `starts-${starts.size}`);
      starts.set(`${name}, ${server}`, file);
      return { ...faultyStdio({ ledger, starts: file }), concurrency: 64 };
    };
    // Whom it asks is certain only if no other client uses it.
    const locals = { own: local('own'), asker: { ...local('asker'), isolation: 'client' } };
    const mcpServers = { ...locals, remote: { url: remote.url, concurrency: 64 } };
    return opened.use(await GatewayHome.create({ mcpServers }));
  };
  const home = await homeOf('instance');
  const official = await homeOf('stdio, official');
  const raw = await homeOf('stdio, raw');
  const instance = await served(home, { isInspected: true });
  ends.push(() => instance.started.stop());
  const stdio = await officialProcess('stdio, official', official, history, ['serve', '--stdio']);
  const pipelining = await RawStdio.open('stdio, raw', raw, history);
  const holders = new Map([
    ['instance', instance.pid],
    [stdio.name, stdio.pid],
    [pipelining.name, pipelining.pid],
  ]);
  const { url } = instance;
  const window = (number: number) =>
    officialProcess(`window ${number}`, home, history, ['connect', '--idle-end', '60000']);
  const clients: readonly Loaded[] = [
    { client: modernClient('modern, kept', url, history, true), taste: quick },
    { client: modernClient('modern, new', url, history, false), taste: quick },
    { client: await legacyClient('legacy, kept', url, history, true), taste: quick },
    { client: await legacyClient('legacy, new', url, history, false), taste: quick },
    { client: await officialHttp('official, modern', url, history, 'auto'), taste: asked },
    { client: await officialHttp('official, legacy', url, history, 'legacy'), taste: asked },
    { client: await window(1), taste: asked },
    { client: await window(2), taste: asked },
    { client: stdio, taste: asked },
    { client: pipelining, taste: quick },
  ];
  const warm = async () => {
    for (const { client, taste } of clients) await answeredAll(client, new Orders(taste));
  };
  const callers: Caller[] = [];
  const begin = () => {
    for (const { client, taste } of clients) {
      callers.push(new Caller(client, history, new Orders(taste), rate / clients.length));
    }
  };
  const rest = async () => {
    await Promise.all(callers.map((caller) => caller.end()));
    callers.length = 0;
  };
  ends.push(async () => {
    await rest();
    await Promise.all(clients.map(({ client }) => client[Symbol.asyncDispose]()));
  });
  return {
    home,
    homes: [home, official, raw],
    instance,
    history,
    files,
    holders,
    warm,
    begin,
    rest,
    [Symbol.asyncDispose]: close,
  };
}

/** One after the other, and long calls side by side with short ones. */
async function answeredAll(client: LoadClient, orders: Orders): Promise<void> {
  for (const order of orders.everyKind()) {
    const answer = (await client.call(order)) as { readonly isError?: boolean };
    if (answer.isError === true) throw new Error(`${client.name}: ${JSON.stringify(answer)}`);
  }
}
