// Rollouts that fail: a successor that ends, says nothing, is no program, may not be started or refuses what it is
// given. The process before serves on, `holdfast rollout` says why with exit code 3, and the next rollout, of a program
// that works, succeeds.

import { chmod, copyFile, readFile, rename, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { statusOf } from '../support/connect-window.ts';
import { faultyStdio, temporaryFolder } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { installedGateway } from '../support/installed-program.ts';
import { executions } from '../support/ledger.ts';
import { servingPid, servingPids } from '../support/serving-process.ts';
import { until } from '../support/until.ts';

const config = { mcpServers: { own: faultyStdio() } };

/** In one step, as an installation does it. */
async function replaced(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text);
  await rename(`${file}.new`, file);
}

const another = `process.env.HOLDFAST_HOLDER = process.env.HOLDFAST_HOLDER?.replace(/:(\\w+):successor/, ':0123456789abcdef:successor');\n`;

const flaws = [
  ['ends', async (main: string) => replaced(main, 'process.exit(7);'), 'exit code 7'],
  [
    'is killed',
    async (main: string) => replaced(main, `process.kill(process.pid, 'SIGKILL');`),
    'SIGKILL',
  ],
  [
    'writes to the channel of the pid-holder what is no message',
    async (main: string) =>
      replaced(
        main,
        `import { writeSync } from 'node:fs'; writeSync(3, 'not json\\n'); process.exit(7);`,
      ),
    'exit code 7',
  ],
  ['is no program', async (main: string) => replaced(main, 'import {'), 'exit code 1'],
  [
    'can be changed by others',
    async (main: string) => chmod(main, 0o666),
    'can be changed by others',
  ],
  [
    'refuses the snapshot',
    async (main: string) => {
      // The banner of the bundle is first.
      const text = await readFile(main, 'utf8');
      const at = text.indexOf('\n', text.startsWith('#!') ? text.indexOf('\n') + 1 : 0) + 1;
      await replaced(main, text.slice(0, at) + another + text.slice(at));
    },
    'instance',
  ],
] as const;

describe('a successor that', () => {
  it.each(flaws)('%s leaves the process before serving #rollout', async (_, break_, cause) => {
    await using home = await GatewayHome.create(config);
    await using gateway = await installedGateway(home);
    await copyFile(gateway.main, `${gateway.main}.good`);
    using client = new HttpClient(gateway.url);
    expect(await client.call('own__echo', { text: 'a' })).toHaveProperty('result');
    const serving = await servingPid(gateway.pid);
    await break_(gateway.main);
    const { code, stderr } = await home.run(['rollout']);
    expect(code, stderr).toBe(3);
    expect(stderr).toContain(cause);
    expect(await servingPids(gateway.pid)).toEqual([serving]);
    expect(await client.call('own__echo', { text: 'a' })).toHaveProperty('result');
    expect((await statusOf(home)).rollout).not.toBe('stable');
    await rename(`${gateway.main}.good`, gateway.main);
    expect(await home.run(['rollout'])).toMatchObject({ code: 0 });
    expect(await servingPid(gateway.pid, [serving])).not.toBe(serving);
    expect(await client.call('own__echo', { text: 'a' })).toHaveProperty('result');
  });
});

describe('rollouts at once', () => {
  it('two that are asked for end with one process that serves #rollout', async () => {
    await using home = await GatewayHome.create(config);
    await using served = await home.serve();
    const serving = await servingPid(served.pid);
    const both = await Promise.all([
      home.run(['rollout', '--json']),
      home.run(['rollout', '--json']),
    ]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    expect(await servingPid(served.pid, [serving])).not.toBe(serving);
    using client = new HttpClient(served.url);
    expect(await client.call('own__echo', { text: 'a' })).toHaveProperty('result');
  });

  it('and the end of the instance: it ends, with its answers #rollout #drain', async () => {
    await using folder = await temporaryFolder();
    const ledger = folder.file('ledger');
    await using home = await GatewayHome.create({ mcpServers: { own: faultyStdio({ ledger }) } });
    await using served = await home.serve();
    using client = new HttpClient(served.url);
    const calling = client.call('own__slow', { nonce: 'slow', ms: 1_200 });
    await until(() => executions(ledger, 'slow') === 1, 'the call');
    const rolling = home.run(['rollout']);
    await until(async () => (await servingPids(served.pid)).length === 2, 'a successor');
    const [ended, rolled, answer] = await Promise.all([served.stop(), rolling, calling]);
    expect(ended).toMatchObject({ code: 0, signal: null });
    expect([0, 3]).toContain(rolled.code);
    expect(answer).toMatchObject({ result: { structuredContent: { ms: 1_200 } } });
    expect(executions(ledger, 'slow')).toBe(1);
  });

  it('that is asked for while the instance ends is refused #rollout #drain', async () => {
    await using folder = await temporaryFolder();
    const ledger = folder.file('ledger');
    await using home = await GatewayHome.create({ mcpServers: { own: faultyStdio({ ledger }) } });
    await using served = await home.serve();
    using client = new HttpClient(served.url);
    const calling = client.call('own__slow', { nonce: 'slow', ms: 1_500 });
    await until(() => executions(ledger, 'slow') === 1, 'the call');
    const stopping = served.stop();
    const { code } = await home.run(['rollout']);
    expect(code).toBe(3);
    expect(await calling).toMatchObject({ result: { structuredContent: { ms: 1_500 } } });
    expect(await stopping).toMatchObject({ code: 0, signal: null });
  });
});
