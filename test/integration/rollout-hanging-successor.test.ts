// A successor that hangs: one that never says that it is ready is given up, and the version before serves on; one that
// hangs behind the fence is followed by another one. The copies of the program wait for less time than the real one does.

import { existsSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { faultyStdio, temporaryFolder } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { installedBefore, installedGateway } from '../support/installed-program.ts';
import { executions } from '../support/ledger.ts';
import { servingPid, servingPids } from '../support/serving-process.ts';
import { until } from '../support/until.ts';

const hangsAtOnce = `
if (process.env.HOLDFAST_HOLDER?.endsWith(':successor')) {
  setInterval(() => {}, 1_000);
  await new Promise(() => {});
}
`;

/** It does not ask for it, as long as there is this file, which it removes. */
const neverTakesOver = (mark: string) => `
if (process.env.HOLDFAST_HOLDER?.endsWith(':successor')) {
  const send = process.send;
  process.send = function (message, ...rest) {
    if (message?.op === 'claim') {
      try {
        process.getBuiltinModule('node:fs').rmSync(${JSON.stringify(mark)});
        return true;
      } catch {}
    }
    return send.call(this, message, ...rest);
  };
}
`;

async function world(edit: readonly [string, string]) {
  const folder = await temporaryFolder();
  const ledger = folder.file('ledger');
  const home = await GatewayHome.create({ mcpServers: { own: faultyStdio({ ledger }) } });
  const gateway = await installedGateway(home, [edit]);
  const serving = await servingPid(gateway.pid);
  const end = async () => {
    await gateway[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  };
  return { folder, ledger, home, gateway, serving, [Symbol.asyncDispose]: end };
}

describe('a successor that hangs', () => {
  it('before it is ready is ended, and the version before serves on #rollout', async () => {
    await using made = await world(['gateMs: 15e3', 'gateMs: 500']);
    const { home, gateway, serving, ledger } = made;
    using client = new HttpClient(gateway.url);
    const slow = client.call('own__slow', { nonce: 'slow', ms: 500 });
    await until(() => executions(ledger, 'slow') === 1, 'the call');
    await installedBefore(gateway.main, hangsAtOnce);
    const { code, stderr } = await home.run(['rollout']);
    expect(code).toBe(3);
    expect(stderr).toContain('was not ready within 0.5 s');
    expect((await slow).result).toHaveProperty('structuredContent');
    expect(await client.call('own__add', { nonce: 'then', key: 'k' })).toHaveProperty('result');
    expect(await servingPids(gateway.pid)).toEqual([serving]);
  });

  it('behind the fence is followed by another one, and no call fails or runs twice #rollout #never-twice', async () => {
    await using made = await world(['handOverMs: 15e3', 'handOverMs: 3e3']);
    const { home, gateway, serving, ledger, folder } = made;
    using client = new HttpClient(gateway.url);
    const mark = folder.file('hangs');
    await installedBefore(gateway.main, neverTakesOver(mark));
    writeFileSync(mark, '');
    const slow = client.call('own__slow', { nonce: 'slow', ms: 500 });
    await until(() => executions(ledger, 'slow') === 1, 'the call');
    const rolling = home.run(['rollout']);
    await until(() => !existsSync(mark), 'it hangs');
    // Waits for the next one.
    using late = new HttpClient(gateway.url);
    const during = late.call('own__add', { nonce: 'late', key: 'k' });
    expect((await rolling).stderr).toBe('');
    expect((await slow).result).toHaveProperty('structuredContent');
    expect((await during).result).toHaveProperty('structuredContent');
    expect(gateway.started.stderr).toContain('another one is started');
    expect([executions(ledger, 'slow'), executions(ledger, 'late')]).toEqual([1, 1]);
    await until(async () => {
      const now = await servingPids(gateway.pid);
      return now.length === 1 && !now.includes(serving);
    }, 'the former has ended');
  });
});
