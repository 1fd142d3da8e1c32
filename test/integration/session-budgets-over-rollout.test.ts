// What a session has spent of a budget that ends with it goes to the next process in a rollout: of a client on stdio, of a
// window of connect and of a legacy session over HTTP. A session that begins afterwards has spent nothing.

import { describe, expect, it } from 'vitest';
import { openWindow } from '../support/connect-window.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import type { Json } from '../support/gateway-stdio-client.ts';
import { servingPid } from '../support/serving-process.ts';

const budget = { calls: 3, per: 'session' };
const config = {
  mcpServers: { own: faultyStdio() },
  roles: { r: { allow: ['*'], operator: true, budget } },
  local: { role: 'r' },
};

/** Makes calls until one is refused: how many were not. */
async function callsLeft(call: () => Promise<Json>): Promise<number> {
  for (let made = 0; made < 10; made += 1) {
    if (JSON.stringify(await call()).includes('budget_exceeded')) return made;
  }
  return 10;
}

describe('a budget of a session', () => {
  it('goes on over two rollouts: windows of connect and legacy sessions over HTTP #rollout', async () => {
    await using home = await GatewayHome.create(config);
    await using served = await home.serve();
    await using window = await openWindow(home);
    const inWindow = () => window.call('own__echo', { text: 'a' });
    using client = new HttpClient(served.url);
    const session = await client.session();
    await inWindow();
    await session.call('own__echo', { text: 'a' });
    expect((await home.run(['rollout'])).stderr).toBe('');
    await inWindow();
    expect((await home.run(['rollout'])).stderr).toBe('');
    expect(await callsLeft(inWindow)).toBe(1);
    expect(await callsLeft(() => session.call('own__echo', { text: 'a' }))).toBe(2);
    const other = await client.session();
    expect(await callsLeft(() => other.call('own__echo', { text: 'a' }))).toBe(3);
  });

  it('goes on over a rollout: a client on stdio, with a call that is under way #rollout', async () => {
    await using home = await GatewayHome.create(config);
    await using client = home.stdio();
    await client.initialize();
    const call = (id: number, name: string, args = {}) =>
      client.ask('tools/call', { name, arguments: args }, id);
    await call(10, 'own__echo', { text: 'a' });
    const former = await servingPid(client.pid);
    const slow = call(11, 'own__slow', { ms: 300 });
    process.kill(client.pid, 'SIGHUP');
    await servingPid(client.pid, [former]);
    expect((await slow).result).toBeDefined();
    let id = 20;
    expect(await callsLeft(() => call(id++, 'own__echo', { text: 'a' }))).toBe(1);
  });
});
