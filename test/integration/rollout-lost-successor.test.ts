// A successor that is killed behind the fence, when everything has been handed over to it and it has not taken over:
// another one is given the same, and no client notices. Only if several in a row are lost is it as after a crash.

import { writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { openWindow, statusOf } from '../support/connect-window.ts';
import { faultyStdio, temporaryFolder } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import {
  type InstalledGateway,
  installedBefore,
  installedGateway,
} from '../support/installed-program.ts';
import { executions } from '../support/ledger.ts';
import { servingPid } from '../support/serving-process.ts';
import { until } from '../support/until.ts';

/** Successors kill themselves in the moment in which they would take over, as long as there are such files. */
const dies = (mark: string) => `
if (process.env.HOLDFAST_HOLDER?.endsWith(':successor')) {
  const send = process.send;
  process.send = function (message, ...rest) {
    if (message?.op === 'claim') {
      try {
        const fs = process.getBuiltinModule('node:fs');
        const [one] = fs.readdirSync(${JSON.stringify(mark)});
        if (one !== undefined) {
          fs.rmSync(${JSON.stringify(mark)} + '/' + one);
          process.kill(process.pid, 'SIGKILL');
          return true;
        }
      } catch {}
    }
    return send.call(this, message, ...rest);
  };
}
`;

async function installDying({ main }: InstalledGateway, mark: string): Promise<void> {
  await installedBefore(main, dies(mark));
}

const childrenOf = async (home: GatewayHome): Promise<unknown[]> =>
  (await statusOf(home)).servers[0].children.map(({ pid }: { readonly pid: number }) => pid);

describe('a successor that is killed behind the fence', () => {
  it('is followed by another one, and no call fails or runs twice #rollout #never-twice', async () => {
    await using folder = await temporaryFolder();
    await using marks = await temporaryFolder();
    const ledger = folder.file('ledger');
    await using home = await GatewayHome.create({ mcpServers: { own: faultyStdio({ ledger }) } });
    await using gateway = await installedGateway(home);
    using client = new HttpClient(gateway.url);
    await using window = await openWindow(home);
    expect(await client.call('own__add', { nonce: 'first', key: 'k' })).toHaveProperty('result');
    await window.call('own__add', { nonce: 'second', key: 'k' });
    const children = await childrenOf(home);
    const serving = await servingPid(gateway.pid);
    await installDying(gateway, marks.path);
    for (const name of ['one', 'two']) await writeFile(marks.file(name), '');
    const slow = (nonce: string) => ({ nonce, ms: 4_000 });
    const calls = [
      client.call('own__slow', slow('http')),
      window.call('own__slow', slow('window')),
    ];
    for (const nonce of ['http', 'window']) {
      await until(() => executions(ledger, nonce) === 1, 'the call');
    }
    const rolling = home.run(['rollout', '--json']);
    await until(() => gateway.started.stderr.includes('another one is started'), 'one is lost');
    // Whoever comes now waits for the next.
    using late = new HttpClient(gateway.url);
    const during = [
      late.call('own__add', { nonce: 'late', key: 'k' }),
      window.call('own__add', { nonce: 'window late', key: 'k' }),
    ];
    const rolled = await rolling;
    expect([rolled.code, rolled.stderr]).toEqual([0, '']);
    for (const answer of await Promise.all([...calls, ...during])) {
      expect(answer.result ?? answer).toHaveProperty('structuredContent');
    }
    for (const nonce of ['first', 'second', 'http', 'window', 'late', 'window late']) {
      expect(executions(ledger, nonce), nonce).toBe(1);
    }
    expect(gateway.started.stderr.match(/another one is started/g)).toHaveLength(2);
    expect(await servingPid(gateway.pid, [serving])).not.toBe(serving);
    expect(await childrenOf(home)).toEqual(children);
    expect((await statusOf(home)).rollout).toBe('stable');
    expect(await client.call('own__add', { nonce: 'then', key: 'k' })).toHaveProperty('result');
  });

  it('as are all that follow it: the gateway comes back as after a crash #rollout #never-twice', async () => {
    await using folder = await temporaryFolder();
    await using marks = await temporaryFolder();
    const ledger = folder.file('ledger');
    await using home = await GatewayHome.create({ mcpServers: { own: faultyStdio({ ledger }) } });
    await using gateway = await installedGateway(home);
    using client = new HttpClient(gateway.url);
    expect(await client.call('own__add', { nonce: 'first', key: 'k' })).toHaveProperty('result');
    await installDying(gateway, marks.path);
    for (const name of ['a', 'b', 'c', 'd']) await writeFile(marks.file(name), '');
    await home.run(['rollout']);
    await until(() => gateway.started.stderr.includes('has died'), 'the serving process ends');
    await servingPid(gateway.pid);
    const again = async () => {
      using next = new HttpClient(gateway.url);
      return await next.call('own__echo', { text: 'again' }).catch(() => undefined);
    };
    await until(async () => (await again())?.result !== undefined, 'it serves again');
    expect(executions(ledger, 'first')).toBe(1);
  });
});
