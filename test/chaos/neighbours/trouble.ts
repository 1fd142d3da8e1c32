// A process of its own that drives the five bad servers, behind the gateway or beside it. Its work is
// the same in both places, so that a difference in the figures is the gateway's.

import { Agent, request } from 'node:http';
import { Dice } from '../../support/dice.ts';
import { modernHeaders, requestFrame } from '../dialects.ts';
import { type BadServer, badServers, nextArguments, noted, type Place } from './bad-servers.ts';
import { BareServer } from './bare-server.ts';

export interface TroubleOrder {
  readonly place: Place;
  /** For what bad servers note. */
  readonly folder: string;
  readonly url: string;
  readonly ms: number;
  readonly seed: string;
}

process.on('message', async (order: TroubleOrder) => {
  await (order.place === 'behind' ? behind(order) : beside(order));
  process.send?.('done');
});

async function behind({ url, ms, seed }: TroubleOrder): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  await drive(ms, seed, ({ name }, args) => post(url, agent, `${name}__echo`, args));
  agent.destroy();
}

async function beside({ ms, seed, folder }: TroubleOrder): Promise<void> {
  const servers = new Map(
    badServers.map(({ name }) => [name, new BareServer(noted(folder, 'beside', name))]),
  );
  await drive(ms, seed, ({ name }, args) => servers.get(name)?.call(args));
  await Promise.all([...servers.values()].map((server) => server.close()));
}

async function drive(
  ms: number,
  seed: string,
  call: (server: BadServer, args: object) => void,
): Promise<void> {
  const timers = badServers.map((server) => {
    const dice = new Dice(`${seed}/${server.name}`);
    return setInterval(
      () => call(server, nextArguments(server, dice)),
      1000 / server.callsPerSecond,
    );
  });
  await new Promise((resolve) => setTimeout(resolve, ms));
  for (const timer of timers) clearInterval(timer);
}

function post(url: string, agent: Agent, name: string, args: object): void {
  const headers = modernHeaders('tools/call', name);
  const sent = request(url, { method: 'POST', headers, agent }, (response) => response.resume());
  sent.on('error', () => {}); // what becomes of these calls is judged elsewhere
  sent.end(requestFrame('modern', 1, 'tools/call', { name, arguments: args }));
}
