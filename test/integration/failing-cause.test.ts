// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of the config
// A server that says why it fails and exits: the cause is told wherever a person looks, without the
// secrets that the server was given, and to nobody who may not see how servers are run.

import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { Gateway } from '../../src/downstream/gateway.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { type CommandLine, commandLine } from '../support/command-line.ts';
import { ModernPeer, type RecordedReply } from '../support/fake-gateway.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { faultOf, gatewayHostWith, statusOf } from '../support/host.ts';
import { until } from '../support/until.ts';

const secret = 'k3y-0123456789';
const cause = 'Error: DATABASE_URL is not set';

/** Prints what it was given, and dies as an ordinary Node program does. */
const program = `console.error('the key is ' + process.env.API_KEY); throw new Error('DATABASE_URL is not set')`;
const failing = { command: 'node', args: ['-e', program], env: { API_KEY: secret } };

async function withFailing(): Promise<CommandLine> {
  const cli = await commandLine();
  await cli.servers({ db: failing });
  return cli;
}

describe('the cause of a failing server', () => {
  it('is reported by the failed call, in one line #failing-cause', async () => {
    await using cli = await withFailing();
    const { code, stderr } = await cli.run(['call', 'db/x']);
    expect(code).toBe(3);
    expect(stderr).toMatch(
      /^holdfast: db did not start: Error: DATABASE_URL is not set \(it exited with code 1\) \[unavailable\]/,
    );
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    const { fault } = JSON.parse((await cli.run(['call', 'db/x', '--json'])).stdout);
    expect(fault.stderr.split('\n')).toEqual(['the key is [env API_KEY]', cause]);
  });

  it('is kept for the next look of another process, until the server has started well #failing-cause', async () => {
    await using cli = await withFailing();
    await cli.run(['call', 'db/x']);
    expect((await cli.run(['status'])).stdout).toMatch(/^db +idle +.*DATABASE_URL is not set/m);
    const page = (await cli.run(['status', 'db'])).stdout;
    expect(page).toMatch(/^Standard error\nthe key is \[env API_KEY\]\nError: DATABASE_URL/m);
    const looked = async () => JSON.parse((await cli.run(['status', '--json'])).stdout).servers[0];
    expect(await looked()).toMatchObject({
      cause: expect.stringContaining(cause),
      stderr: ['the key is [env API_KEY]', cause],
    });
    await cli.servers({ db: faultyStdio() });
    await cli.run(['call', 'db/echo', 'text=hi']);
    expect(await looked()).toMatchObject({ cause: null, stderr: [] });
  });

  it('is one line of the gateway, and in its health #failing-cause', async () => {
    await using home = await GatewayHome.create({ mcpServers: { db: failing } });
    await using served = await home.serve();
    using client = new HttpClient(served.url);
    const call = (name: string, args: object = {}) =>
      client.modern('tools/call', { name, arguments: args });
    expect(JSON.stringify((await call('db__x')).json)).toContain(cause);
    const health = await call('holdfast__health_snapshot', { render: 'json', detail: 'full' });
    const [db] = health.json.result.structuredContent.status.servers;
    expect(db.cause).toContain(cause);
    expect(db.stderr).toEqual(expect.arrayContaining(['the key is [env API_KEY]', cause]));
    const { stderr } = await served.stop();
    const lines = stderr.split('\n').filter((line) => line.includes(cause));
    expect(lines).toEqual([`holdfast: db did not start: ${cause} (it exited with code 1)`]);
  });

  it('is reported for a start that only hangs, too', async () => {
    await using cli = await commandLine();
    const hanging = `console.error('Error: the lock is held'); setInterval(() => {}, 1000)`;
    await cli.servers({ db: { command: 'node', args: ['-e', hanging], startTimeoutMs: 1_000 } });
    const { code, stderr } = await cli.run(['call', 'db/x']);
    expect(code).toBe(3);
    expect(stderr).toMatch(/not ready within 1000 ms.*Error: the lock is held \[start_timeout\]/);
  });

  it('may be on stdout: its first line there is reported, printable, cut and without secrets #failing-cause', async () => {
    await using cli = await commandLine();
    const usage = `console.log(); console.log('Usage: db \\u001b[2J --key ' + process.env.API_KEY + ' ' + 'x'.repeat(5000)); console.log('more');`;
    const env = { API_KEY: secret };
    await cli.servers({
      db: { command: 'node', args: ['-e', `${usage} process.exit(1)`], env },
      slow: {
        command: 'node',
        args: ['-e', `${usage} setInterval(() => {}, 1000)`],
        env,
        startTimeoutMs: 1_000,
      },
    });
    const line = /it printed: Usage: db \\x1b\[2J --key \[env API_KEY\] x{50,200}…/;
    for (const name of ['db', 'slow']) {
      const { code, stderr } = await cli.run(['call', `${name}/x`]);
      expect(code).toBe(3);
      expect(stderr).toMatch(line);
      expect(stderr).not.toMatch(/more|k3y/);
      expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    }
    expect((await cli.run(['doctor'])).stdout.replace(/\s+/g, ' ')).toMatch(line);
  });

  it('has no secret anywhere: not on a screen, not in JSON, not on disk #stderr-guarded', async () => {
    await using cli = await commandLine();
    const printing = `console.log(process.env.API_KEY); console.error(process.argv[1], process.env.API_KEY, process.env.INHERITED, JSON.stringify(process.env.PEM)); process.exit(1)`;
    await writeFile(cli.file('server.mjs'), printing);
    await cli.servers({
      db: {
        command: 'node',
        args: ['server.mjs', '${env:TOKEN}'],
        env: { API_KEY: secret, PEM: 'first line of it\nsecond line of it' },
        inheritEnv: ['INHERITED'],
      },
    });
    await cli.servers({ db: { command: '${env:TOKEN}' } }, 'command.json');
    const env = { TOKEN: 'interpolated-token', INHERITED: 'inherited-value' };
    const said: string[] = [];
    for (const words of [
      ['call', 'db/x'],
      ['call', 'db/x', '--json'],
      ['tools'],
      ['tools', '--json'],
      ['search', 'x'],
      ['status'],
      ['status', 'db'],
      ['status', '--json'],
      ['doctor'],
      ['doctor', '--json'],
      ['doctor', '--no-start', '--config', 'command.json'],
      ['call', 'db/x', '--config', 'command.json'],
    ]) {
      const { stdout, stderr } = await cli.run(words, { env });
      said.push(stdout, stderr);
    }
    said.push(await readFile(cli.file('state/events.jsonl'), 'utf8'));
    const text = said.join('\n');
    expect(text).toContain('[env API_KEY]');
    for (const hidden of [secret, env.TOKEN, env.INHERITED, 'second line of it']) {
      expect(text).not.toContain(hidden);
    }
  });

  it('is for the local user alone #stderr-guarded', async () => {
    await using host = gatewayHostWith({ db: failing });
    host.setGuard(() => ({ allow: true }));
    const stranger = { id: 'token:x', role: 'reader' };
    const settings = {
      naming: 'prefix',
      surface: 'direct',
      hostTools: true,
      listWaitMs: 10_000,
    } as const;
    const identity = { name: 'holdfast', version: '0' };
    await using gateway = new Gateway({ host, clock: systemClock, identity, settings });
    const own = new ModernPeer(gateway, {}, {});
    const foreign = new ModernPeer(gateway, {}, { principal: stranger });
    const answerOf = async (reply: RecordedReply) => {
      await until(() => reply.answers.length > 0, 'an answer');
      return reply.answers.join();
    };
    const full = { render: 'json', detail: 'full' };
    const asked = async (peer: ModernPeer) => [
      await answerOf(peer.call('db__x')),
      await answerOf(peer.request('prompts/get', { name: 'db__x' })),
      await answerOf(peer.call('holdfast__health_snapshot', full)),
      await answerOf(peer.call('holdfast__health_snapshot', { ...full, render: 'porcelain' })),
      await answerOf(peer.call('holdfast__telemetry_snapshot', full)),
    ];
    const told = await asked(foreign);
    for (const text of told) expect(text).not.toMatch(/DATABASE_URL|the key|exited with code|node/);
    expect(told[0]).toContain('db cannot be started or reached');
    const heard = await asked(own);
    expect(heard[0]).toContain(cause);
    expect(heard[2]).toContain(cause);
    expect(heard.join()).not.toContain(secret);
    const denied = await faultOf(host.call('db', 'x', {}, { principal: stranger }));
    expect(denied.record).not.toHaveProperty('stderr');
    expect(denied.message).not.toContain('DATABASE_URL');
    expect((await faultOf(host.call('db', 'x'))).message).toContain(cause);
    expect(statusOf(host, 'db').stderr).toContain(cause);
  });
});
