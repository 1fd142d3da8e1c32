// The pid-holder of `holdfast serve`: the process that was started stays, whatever happens to the one that serves; it
// ends as that one ends; and nothing is left when it is killed itself.

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { systemProcesses } from '../../src/supervise/process/watch/system-processes.ts';
import { catchesHangups } from '../chaos/process-list.ts';
import { GatewayHome, type Served } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { servingPid } from '../support/serving-process.ts';
import { newTag, sleeper, sleepersWith, stillAlive } from '../support/sleepers.ts';
import { until } from '../support/until.ts';

const table = systemProcesses();
const main = fileURLToPath(new URL('../fixtures/servers/watched/main.mjs', import.meta.url));
const mcpServers = { notes: { command: process.execPath, args: [main] } };
const touched = { result: { content: [{ type: 'text' }] } };

/** A connection of its own for each: one that is kept would be cut by a death. */
async function calledOnce({ url }: Served): Promise<void> {
  using client = new HttpClient(url);
  expect(await client.call('notes__touch')).toMatchObject(touched);
}

async function healthOf({ url }: Pick<Served, 'url'>): Promise<number | undefined> {
  using client = new HttpClient(url);
  return (await client.ask({ method: 'GET', path: '/healthz' })).status;
}

describe('a serving process that dies', () => {
  it('is replaced behind the same pid and port, and a request in between waits #pid-holder', async () => {
    await using home = await GatewayHome.create({ mcpServers });
    await using served = await home.serve();
    await calledOnce(served);
    const first = await servingPid(served.pid);
    expect(first).not.toBe(served.pid);
    const servers = (await table.descendants(served.pid)).filter(({ pid }) => pid !== first);
    expect(servers).not.toEqual([]);
    process.kill(first, 'SIGKILL');
    expect(await healthOf(served)).toBe(200);
    const second = await servingPid(served.pid, [first]);
    expect(second).not.toBe(first);
    // The servers of the first have ended with it.
    await until(async () => (await stillAlive(servers)).length === 0, 'the servers end');
    await calledOnce(served);
    const status = await home.run(['status', '--json']);
    expect(status.stdout).toContain(`"pid":${served.pid}`);
    const ended = await served.stop();
    expect(ended).toMatchObject({ code: 0, signal: null });
    expect(ended.stderr).toContain('the serving process has died (SIGKILL); another is started');
    // A client reads one line.
    expect(ended.stdout.trim().split('\n')).toHaveLength(1);
  });

  it('leaves the sessions of its clients to the next #pid-holder', async () => {
    await using home = await GatewayHome.create({ mcpServers });
    await using served = await home.serve();
    using client = new HttpClient(served.url);
    const session = await client.session();
    expect(await session.call('notes__touch')).toMatchObject(touched);
    process.kill(await servingPid(served.pid), 'SIGKILL');
    using again = new HttpClient(served.url);
    const call = session.request('tools/call', { name: 'notes__touch', arguments: {} });
    expect((await again.ask(call)).json).toMatchObject(touched);
  });

  it('is replaced five times within a minute, and then all ends as it has ended #pid-holder', async () => {
    await using home = await GatewayHome.create();
    await using served = await home.serve();
    const killed: number[] = [];
    for (let deaths = 1; deaths <= 6; deaths += 1) {
      const pid = await servingPid(served.pid, killed);
      expect(await healthOf(served)).toBe(200);
      killed.push(pid);
      process.kill(pid, 'SIGKILL');
    }
    const ended = await served.ended;
    expect(ended).toMatchObject({ code: null, signal: 'SIGKILL' });
    expect(ended.stderr).toContain('too often within a minute');
  });

  it('is not replaced before it has ever served #pid-holder', async () => {
    await using home = await GatewayHome.create();
    const ended = await home.start(['--listen', '192.0.2.1:1']).ended;
    expect(ended).toMatchObject({ code: 2, signal: null });
    expect(ended.stderr).not.toContain('another is started');
  });

  it('is not replaced for a client on the standard streams, which would wait for its answers #pid-holder', async () => {
    await using home = await GatewayHome.create({ mcpServers });
    const { command, args, env } = home.stdioCommand;
    const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
    const ended = new Promise<unknown>((resolve) =>
      child.once('close', (code, signal) => resolve({ code, signal })),
    );
    process.kill(await servingPid(child.pid as number), 'SIGKILL');
    expect(await ended).toEqual({ code: null, signal: 'SIGKILL' });
  });
});

describe('a hangup of the holder', () => {
  it('while its serving process still loads is a rollout when it serves #pid-holder #rollout', async () => {
    await using home = await GatewayHome.create({ mcpServers });
    const started = home.start(['--listen', '127.0.0.1:0', '--json']);
    await until(() => catchesHangups(started.pid), 'the holder hears signals');
    process.kill(started.pid, 'SIGHUP');
    await started.printed('\n');
    await until(() => started.stderr.includes('has taken over from'), 'the rollout');
    process.kill(started.pid, 'SIGTERM');
    expect(await started.ended).toMatchObject({ code: 0, signal: null });
  });

  it('between two serving processes ends nothing #pid-holder', async () => {
    await using home = await GatewayHome.create({ mcpServers });
    const served = home.start(['--listen', '127.0.0.1:0', '--json']);
    await served.printed('\n');
    const { url } = JSON.parse(served.stdout.split('\n')[0] ?? '') as Pick<Served, 'url'>;
    const killed: number[] = [];
    for (let deaths = 1; deaths <= 3; deaths += 1) {
      const pid = await servingPid(served.pid, killed);
      expect(await healthOf({ url })).toBe(200);
      killed.push(pid);
      process.kill(pid, 'SIGKILL');
    }
    // From the second on it takes a while until the next is started.
    const deaths = () => served.stderr.split('the serving process has died').length - 1;
    await until(() => deaths() === 3, 'the holder has seen it');
    process.kill(served.pid, 'SIGHUP');
    expect(await healthOf({ url })).toBe(200);
    expect(await served.stop()).toMatchObject({ code: 0, signal: null });
  });
});

describe('a signal to the holder', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('%s ends it in good order', async (signal) => {
    await using home = await GatewayHome.create({ mcpServers });
    await using served = await home.serve();
    await calledOnce(served);
    const below = await table.descendants(served.pid);
    process.kill(served.pid, signal);
    expect(await served.ended).toMatchObject({ code: 0, signal: null });
    expect(await stillAlive(below)).toEqual([]);
  });

  it('means the same when it reaches the serving process directly, too #pid-holder', async () => {
    await using home = await GatewayHome.create({ mcpServers });
    await using served = await home.serve();
    const serving = await servingPid(served.pid);
    // As a service manager does, which signals every process of the service.
    for (const pid of [serving, served.pid, serving]) process.kill(pid, 'SIGTERM');
    const ended = await served.ended;
    expect(ended).toMatchObject({ code: 0, signal: null });
    expect(ended.stderr).not.toContain('stopped at once');
  });
});

describe('a holder that is killed', () => {
  it.each(['runs', 'is stopped'] as const)(
    'leaves nothing two seconds later, if the serving process %s #no-orphans',
    async (state) => {
      const tag = newTag();
      const script = `setsid ${sleeper} ${tag} & exec cat`;
      const server = { command: 'sh', args: ['-c', script], lazy: false };
      await using home = await GatewayHome.create({ mcpServers: { server } });
      await using served = await home.serve();
      const strays = await sleepersWith(tag);
      const serving = await servingPid(served.pid);
      const all = [...(await table.descendants(served.pid)), ...strays];
      expect(all.map(({ pid }) => pid)).toContain(serving);
      if (state === 'is stopped') process.kill(serving, 'SIGSTOP');
      const from = Date.now();
      process.kill(served.pid, 'SIGKILL');
      await until(async () => (await stillAlive(all)).length === 0, 'all have ended');
      expect(Date.now() - from).toBeLessThan(2_000);
    },
  );
});
