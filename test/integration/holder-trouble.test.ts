// What the pid-holder meets besides deaths: too few descriptors, nobody who reads its standard error, signals at any
// moment, a program that others can change. Everything of the instance hangs on it: it must not end by any of them.

import { execFileSync, spawn } from 'node:child_process';
import { chmod, copyFile, readdir, readFile, rename } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { holderPid, statusOf } from '../support/connect-window.ts';
import { faultyStdio, temporaryFolder } from '../support/faulty.ts';
import { GatewayHome, Started } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { installedGateway } from '../support/installed-program.ts';
import { executions } from '../support/ledger.ts';
import { servingPid, servingPids } from '../support/serving-process.ts';
import { signalledAtClaim } from '../support/signalled-at-claim.ts';
import { Terminal } from '../support/terminal.ts';
import { until } from '../support/until.ts';

const config = { mcpServers: { own: faultyStdio() } };

async function echoes(url: string): Promise<unknown> {
  using client = new HttpClient(url);
  return await client.call('own__echo', { text: 'a' });
}

/** It can open no more files. */
async function limitFiles(pid: number): Promise<void> {
  const open = new Set((await readdir(`/proc/${pid}/fd`)).map(Number));
  let limit = 0;
  while (open.has(limit)) limit += 1;
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${limit}:`]);
}

const unlimited = (pid: number) =>
  execFileSync('prlimit', ['--pid', String(pid), '--nofile=4096:']);

describe.runIf(process.platform === 'linux')('a holder that may open no more files', () => {
  it('starts no other version, and the one that runs serves on #rollout #pid-holder', async () => {
    await using home = await GatewayHome.create(config);
    await using served = await home.serve();
    expect(await echoes(served.url)).toHaveProperty('result');
    await limitFiles(served.pid);
    const { code, stderr } = await home.run(['rollout']);
    expect([code, stderr]).toEqual([3, expect.stringContaining('EMFILE')]);
    expect(await echoes(served.url)).toHaveProperty('result');
    unlimited(served.pid);
    expect(await home.run(['rollout'])).toMatchObject({ code: 0 });
  });
});

describe('a holder whose standard error nobody reads', () => {
  it('starts another serving process all the same #pid-holder', async () => {
    await using home = await GatewayHome.create(config);
    const words = [...home.stdioCommand.args.slice(0, -1), '--listen', '127.0.0.1:0', '--json'];
    const child = spawn(process.execPath, words, {
      env: home.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stderr.destroy();
    const started = new Started(child);
    await started.printed('\n');
    const { url, pid } = JSON.parse(started.stdout) as { url: string; pid: number };
    // By then its holder has heard that it serves.
    expect(await echoes(url)).toHaveProperty('result');
    const first = await servingPid(pid);
    process.kill(first, 'SIGKILL');
    await servingPid(pid, [first]);
    expect(await echoes(url)).toHaveProperty('result');
    expect(await started.stop()).toMatchObject({ code: 0, signal: null });
  });
});

describe('SIGHUP to a holder', () => {
  it('is a rollout, also before its first process hears of signals #pid-holder', async () => {
    await using home = await GatewayHome.create(config);
    const started = home.start(['--listen', '127.0.0.1:0', '--json']);
    const pid = started.pid as number;
    const first = await servingPid(pid);
    process.kill(pid, 'SIGHUP');
    await started.printed('\n');
    await servingPid(pid, [first]);
    const { url } = JSON.parse(started.stdout) as { url: string };
    expect(await echoes(url)).toHaveProperty('result');
    expect(await started.stop()).toMatchObject({ code: 0, signal: null });
  });

  it('is one at the moment in which a successor takes over, too #rollout #pid-holder', async () => {
    await using home = await GatewayHome.create(config);
    await using gateway = await installedGateway(home);
    expect(await echoes(gateway.url)).toHaveProperty('result');
    await signalledAtClaim(gateway.main, 'SIGHUP', 'after');
    const first = await servingPid(gateway.pid);
    process.kill(gateway.pid, 'SIGHUP');
    await until(async () => (await statusOf(home)).rollouts.count >= 2, 'two rollouts');
    expect(await servingPid(gateway.pid, [first])).not.toBe(first);
    expect(await echoes(gateway.url)).toHaveProperty('result');
  });

  it.runIf(process.platform === 'linux')('is the end if its terminal is closed', async () => {
    await using home = await GatewayHome.create(config);
    const args = [...home.stdioCommand.args.slice(0, -1), '--listen', '127.0.0.1:0'];
    const terminal = new Terminal({ args, env: home.env, cwd: home.folder, columns: 80, rows: 24 });
    await terminal.showed('/mcp');
    const pid = holderPid(home) as number;
    expect(await servingPids(pid)).toHaveLength(1);
    await terminal.close();
    await until(async () => !(await isThere(pid)), 'it has ended');
  });
});

describe('a serving process that dies', () => {
  it('is not replaced by a program that others can change #pid-holder', async () => {
    await using home = await GatewayHome.create(config);
    await using gateway = await installedGateway(home);
    // By then its holder has heard that it serves.
    expect(await echoes(gateway.url)).toHaveProperty('result');
    const serving = await servingPid(gateway.pid);
    await copyFile(gateway.main, `${gateway.main}.good`);
    await chmod(gateway.main, 0o666);
    process.kill(serving, 'SIGKILL');
    await until(() => gateway.started.stderr.includes('can be changed by others'), 'it says why');
    expect(await servingPids(gateway.pid)).toEqual([]);
    await rename(`${gateway.main}.good`, gateway.main);
    expect(await echoes(gateway.url)).toHaveProperty('result');
  });
});

describe('a fifth rollout', () => {
  it('waits while four earlier processes end their work #rollout', async () => {
    await using folder = await temporaryFolder();
    const ledger = folder.file('ledger');
    await using home = await GatewayHome.create({ mcpServers: { own: faultyStdio({ ledger }) } });
    await using served = await home.serve();
    const calls: Promise<unknown>[] = [];
    for (const nonce of ['a', 'b', 'c', 'd']) {
      const client = new HttpClient(served.url);
      const call = client.call('own__slow', { nonce, ms: 12_000 });
      calls.push(call.finally(() => client[Symbol.dispose]()));
      await until(() => executions(ledger, nonce) === 1, 'the call');
      expect(await home.run(['rollout'])).toMatchObject({ code: 0 });
    }
    expect(await servingPids(served.pid)).toHaveLength(5);
    expect(await home.run(['rollout'])).toMatchObject({ code: 0 });
    for (const answer of await Promise.all(calls)) expect(answer).toHaveProperty('result');
  });
});

async function isThere(pid: number): Promise<boolean> {
  return await readFile(`/proc/${pid}/stat`, 'latin1').then(
    (text) => !/\) [ZX] /.test(text),
    () => false,
  );
}
