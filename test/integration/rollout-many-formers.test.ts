// Rollouts one after the other while calls run: up to four former processes, each with a call of its own, while clients
// go on; a fifth rollout waits until one of them has ended.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWindow, statusOf } from '../support/connect-window.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import type { Json } from '../support/gateway-stdio-client.ts';
import { executions } from '../support/ledger.ts';
import { servingPids } from '../support/serving-process.ts';
import { newFolder } from '../support/sqlite-place.ts';
import { steadyCalls } from '../support/steady-calls.ts';
import { until } from '../support/until.ts';
import { type FixtureServer, serverKind, startServer } from './matrix/fixture-server.ts';

let fixture: FixtureServer;
beforeAll(async () => {
  fixture = await startServer(serverKind('sdk-2-legacy', 'stdio'));
});
afterAll(() => fixture?.[Symbol.asyncDispose]());

describe('rollouts in quick succession', () => {
  it('have four former processes at once under load, and a fifth one waits for one of them #rollout', async () => {
    const ledger = `${newFolder()}/ledger`;
    await using home = await GatewayHome.create({
      mcpServers: { m: fixture.entry, own: faultyStdio({ ledger }) },
    });
    await using served = await home.serve();
    await using window = await openWindow(home);
    using client = new HttpClient(served.url);
    const session = await client.session();
    await session.call('own__add', { nonce: 'first', key: 'first', amount: 1 });
    const loads = [
      steadyCalls('session', (args) => session.call('own__add', args)),
      steadyCalls('modern', (args) => client.call('own__add', args)),
      steadyCalls('window', (args) => window.call('own__add', args)),
    ];
    const formers = ['a', 'b', 'c', 'd'].map((name) => `former-${name}`);
    const answers: Promise<Json>[] = [];
    for (const tag of formers) {
      answers.push(window.call('m__steps', { tag }));
      await fixture.probe.saw('stepping', { tag });
      expect((await home.run(['rollout'])).stderr).toBe('');
    }
    expect(await servingPids(served.pid)).toHaveLength(5);
    const fifth = home.run(['rollout']);
    await until(async () => (await statusOf(home))['rollout'] === 'pending', 'it waits');
    // The others stay: one that is in the middle of the row is asked by way of it.
    await fixture.probe.release('former-b');
    await fixture.probe.release('former-a');
    expect((await fifth).stderr).toBe('');
    for (const tag of formers.slice(2)) await fixture.probe.release(tag);
    for (const answer of await Promise.all(answers)) {
      expect(answer['content']).toEqual([{ type: 'text', text: 'done' }]);
    }
    const made = (await Promise.all(loads.map(({ stop }) => stop()))).flat();
    expect(made.filter((nonce) => executions(ledger, nonce) !== 1)).toEqual([]);
    await until(async () => (await servingPids(served.pid)).length === 1, 'the formers have ended');
    expect(formers.map((tag) => fixture.probe.entries('stepping', { tag }).length)).toEqual([
      1, 1, 1, 1,
    ]);
  }, 180_000);
});
