// The instance of a config: one process owns it, and every command of this user reaches it.

import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { instancePlace } from '../../src/instance/place.ts';
import { faultyStdio } from '../support/faulty.ts';
import { type Ended, GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { until } from '../support/until.ts';

const oneServer = { mcpServers: { files: faultyStdio() } };

function placeOf(home: GatewayHome) {
  return instancePlace(home.state, home.configFile, {});
}

function jsonOf({ stdout }: Ended) {
  return JSON.parse(stdout);
}

async function statusOf(home: GatewayHome, server = 'files') {
  const status = jsonOf(await home.run(['status', '--json']));
  return { status, server: status.servers.find(({ name }: { name: string }) => name === server) };
}

async function pidOf(home: GatewayHome): Promise<number> {
  const { code, stdout, stderr } = await home.run(['call', 'files/whoami', '--json']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout).structuredContent.pid;
}

describe('a running instance', () => {
  it('is what call, tools, search and status use, and they leave its servers running #one-instance', async () => {
    await using home = await GatewayHome.create(oneServer);
    await using served = await home.serve();
    const pid = await pidOf(home);
    expect(await pidOf(home)).toBe(pid);
    const { status, server } = await statusOf(home);
    expect(status).toMatchObject({ startedBy: 'serve', config: home.configFile });
    expect(status.instance).toMatch(/^[0-9a-f]{16}$/);
    expect(server).toMatchObject({ state: 'ready', pid: expect.any(Number), generation: 1 });
    expect(status.calls.total).toBe(2);
    const tools = jsonOf(await home.run(['tools', 'files', '--json'])).tools;
    expect(tools.map(({ name }: { name: string }) => name)).toContain('whoami');
    const one = jsonOf(await home.run(['tools', 'files/add', '--json']));
    expect(one).toMatchObject({ server: 'files', replay: { replay: 'never' } });
    const found = jsonOf(await home.run(['search', 'whoami', '--json']));
    expect(found.hits[0]).toMatchObject({ server: 'files', tool: 'whoami' });
    expect((await statusOf(home)).server).toMatchObject({ generation: 1 });
    using client = new HttpClient(served.url);
    const { result } = await client.call('files__whoami');
    expect(result.structuredContent.pid).toBe(pid);
    const page = await home.run(['status']);
    expect(page.stdout).toMatch(/files +ready/);
    expect(page.stdout).not.toContain('No instance');
  });

  it('answers with the faults that the command would have had itself #one-instance', async () => {
    await using home = await GatewayHome.create(oneServer);
    await using _served = await home.serve();
    const exits = async (...args: string[]) => {
      const { code, stderr } = await home.run(args);
      return `${code} ${stderr.trim()}`;
    };
    expect(await exits('call', 'files/nothing')).toMatch(
      /^2 holdfast: .*files has no tool 'nothing'/,
    );
    expect(await exits('call', 'other/nothing')).toMatch(/^2 .*other.*files/);
    expect(await exits('call', 'files/fail', 'text=no')).toMatch(/^1 /);
    expect(await exits('call', 'files/rpc_fail', '{"code":-32000,"message":"no"}')).toMatch(/^1 /);
    expect(await exits('call', 'files/add', '{"fault":{"kind":"crash-after-effect"}}')).toMatch(
      /^5 /,
    );
    expect(await exits('call', 'files/slow', 'ms=60000', '--timeout', '100')).toMatch(/^3 /);
    expect(await exits('status', 'other')).toMatch(/^2 .*other/);
    expect(await exits('tools', 'files__whoami')).toMatch(/^2 .*files\/whoami/);
    const raw = await home.run([
      'call',
      'files/raw',
      `result=${base64('{"content":[], "n":1.50e1}')}`,
      '--json',
    ]);
    expect(raw.stdout).toBe('{"content":[], "n":1.50e1}\n');
  });

  it('is operated: stop, start, reload, and an ejected server comes back #one-instance', async () => {
    await using home = await GatewayHome.create({
      mcpServers: { files: faultyStdio(), broken: { command: '/nowhere/nothing' } },
    });
    await using _served = await home.serve();
    const said = async (...args: string[]) => (await home.run(args)).stdout.trim();
    expect(await said('start', 'files')).toBe('files is running');
    expect((await statusOf(home)).server).toMatchObject({ state: 'ready', generation: 1 });
    expect(await said('stop', 'files')).toBe('files is stopped');
    expect((await statusOf(home)).server).toMatchObject({ state: 'idle', pid: null });
    await pidOf(home);
    expect(await said('reload', 'files')).toBe('files is reloaded');
    expect(JSON.parse(await said('reload', 'files', '--json'))).toEqual({
      server: 'files',
      done: 'reload',
    });
    for (const verb of ['start', 'stop', 'reload']) {
      const { code, stderr } = await home.run([verb, 'fils']);
      expect([verb, code, stderr]).toEqual([verb, 2, expect.stringContaining('files')]);
    }
    const failed = await home.run(['start', 'broken']);
    expect([failed.code, failed.stderr]).toEqual([3, expect.stringContaining('/nowhere/nothing')]);
  });

  it('takes over a changed config, says what is left, and refuses a wrong one #one-instance', async () => {
    await using home = await GatewayHome.create(oneServer);
    await using _served = await home.serve();
    const pid = await pidOf(home);
    expect((await home.run(['reload'])).stdout).toBe('nothing has changed\n');
    await home.configure({
      mcpServers: { files: { ...faultyStdio(), queue: 5 }, more: faultyStdio() },
      naming: 'transparent',
    });
    // The file is followed as well: whoever is first takes it over.
    await home.run(['reload']);
    expect((await statusOf(home, 'more')).server).toMatchObject({ state: 'idle' });
    const plan = (await home.run(['reload', '--dry-run'])).stdout;
    expect(plan).toBe('naming: needs a new start of holdfast serve\n');
    expect(await pidOf(home)).toBe(pid);
    writeFileSync(home.configFile, '{"mcpServers": {"files": {"comand": "x"}}}');
    const wrong = await home.run(['reload']);
    expect(wrong.code).toBe(2);
    const lines = wrong.stderr.trim().split('\n');
    expect(lines.at(-1)).toMatch(/^holdfast: the instance runs the config of [0-9:]+$/);
    expect(lines.filter((line) => line.includes('comand'))).toHaveLength(1);
  });

  it('ends after the calls of commands, too, and refuses new ones meanwhile #one-instance', async () => {
    await using home = await GatewayHome.create(oneServer);
    const served = await home.serve();
    const slow = home.run(['call', 'files/slow', 'ms=4000']);
    await until(async () => (await statusOf(home)).server.inFlight === 1, 'the call is under way');
    await home.run(['shutdown']);
    const refused = await home.run(['call', 'files/whoami']);
    expect([refused.code, refused.stderr]).toEqual([
      3,
      expect.stringContaining(`is ending (process ${served.pid})`),
    ]);
    expect(await slow).toMatchObject({ code: 0, stderr: '' });
    expect(await served.ended).toMatchObject({ code: 0, stderr: '' });
  });

  it('cannot be had in a directory with a long name: commands work by themselves, the gateway says so', async () => {
    await using home = await GatewayHome.create(oneServer);
    Object.assign(home, { state: join(home.folder, 'x'.repeat(100)) });
    expect((await home.run(['call', 'files/whoami'])).code).toBe(0);
    const served = await home.serve();
    expect((await home.run(['status'])).stdout).toContain('No instance');
    expect((await served.stop()).stderr).toContain('commands cannot reach this gateway');
  });

  it('ends with exit code 0 although its state directory is gone', async () => {
    await using home = await GatewayHome.create(oneServer);
    const served = await home.serve();
    rmSync(home.state, { recursive: true });
    expect((await served.stop()).code).toBe(0);
  });

  it('ends when it is asked to, after its calls, and the next one begins #one-instance', async () => {
    await using home = await GatewayHome.create(oneServer);
    const served = await home.serve();
    using client = new HttpClient(served.url);
    const slow = client.call('files__slow', { ms: 3_000 });
    await until(async () => (await statusOf(home)).server.inFlight === 1, 'the call is under way');
    expect((await home.run(['shutdown'])).stdout).toBe('the instance is ending\n');
    expect((await slow).result.isError).not.toBe(true);
    expect(await served.ended).toMatchObject({ code: 0, stderr: '' });
    expect(existsSync(placeOf(home).socket)).toBe(false);
    const none = await home.run(['shutdown']);
    expect([none.code, none.stderr]).toEqual([
      3,
      expect.stringMatching(/no instance.*holdfast serve/),
    ]);
    await using _again = await home.serve();
    await pidOf(home);
  });
});

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

describe('one config has one instance', () => {
  it('of ten that start at once, one runs; the others say which #one-instance', async () => {
    await using home = await GatewayHome.create(oneServer);
    const started = Array.from({ length: 10 }, () =>
      home.start(['--listen', '127.0.0.1:0', '--json']),
    );
    const first = await Promise.any(
      started.map(async (one) => {
        await one.printed('"url"');
        return one;
      }),
    );
    const others = await Promise.all(
      started.filter((one) => one !== first).map((one) => one.ended),
    );
    for (const { code, stdout } of others) {
      expect([code, stdout]).toEqual([3, expect.stringMatching(/running already \(process \d+/)]);
    }
    await pidOf(home);
    await first.stop();
  });

  it('two configs have two, beside each other in one state directory #one-instance', async () => {
    await using one = await GatewayHome.create(oneServer);
    await using other = await GatewayHome.create({ mcpServers: { git: faultyStdio() } });
    Object.assign(other, { state: one.state });
    await using _first = await one.serve();
    await using _second = await other.serve();
    expect((await statusOf(one)).status.config).toBe(one.configFile);
    expect((await statusOf(other, 'git')).status.config).toBe(other.configFile);
  });

  it('is found through a link to the config #one-instance', async () => {
    await using home = await GatewayHome.create(oneServer);
    await using _served = await home.serve();
    const linked = join(home.folder, 'linked');
    mkdirSync(linked);
    symlinkSync(home.configFile, join(linked, 'holdfast.json'));
    const { stdout } = await home.run([
      'status',
      '--json',
      '--config',
      join(linked, 'holdfast.json'),
    ]);
    expect(JSON.parse(stdout).instance).not.toBeNull();
  });

  it('a killed one leaves its lock and its socket behind, and neither is in the way #one-instance', async () => {
    await using home = await GatewayHome.create(oneServer);
    for (let times = 0; times < 3; times += 1) {
      const served = await home.serve();
      await pidOf(home);
      process.kill(served.pid, 'SIGKILL');
      await served.ended;
      expect(existsSync(placeOf(home).socket)).toBe(true);
      expect((await statusOf(home)).status.instance).toBeNull();
    }
    await using _served = await home.serve();
    expect((await statusOf(home)).status.instance).not.toBeNull();
    expect(
      readdirSync(placeOf(home).folder).filter((name) => name.startsWith('lock')),
    ).toHaveLength(1);
  });
});

describe('the control socket', () => {
  it('is for this user only, in a folder for this user only #one-instance', async () => {
    await using home = await GatewayHome.create(oneServer);
    await using _served = await home.serve();
    const { socket } = placeOf(home);
    expect((lstatSync(socket).mode & 0o777).toString(8)).toBe('600');
    expect((lstatSync(dirname(socket)).mode & 0o777).toString(8)).toBe('700');
  });

  it('is not used behind a link, as another thing, or in a folder that others can enter #one-instance', async () => {
    await using home = await GatewayHome.create(oneServer);
    const { socket, folder } = placeOf(home);
    const tried = async () => {
      const { code, stderr } = await home.run(['shutdown']);
      return `${code} ${stderr}`;
    };
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const elsewhere = join(home.folder, 'other.sock');
    const trap = createServer(() => {
      throw new Error('nobody may come here');
    });
    await new Promise<void>((resolve) => trap.listen(elsewhere, resolve));
    symlinkSync(elsewhere, socket);
    expect(await tried()).toMatch(/^3 .*not used: it is not a socket/);
    rmSync(socket);
    writeFileSync(socket, '');
    expect(await tried()).toMatch(/^3 .*not used: it is not a socket/);
    rmSync(socket);
    chmodSync(folder, 0o777);
    expect(await tried()).toMatch(/^3 .*others can enter it/);
    trap.close();
  });

  it('survives peers that say nothing, nonsense, too much, or hang up #one-instance', async () => {
    await using home = await GatewayHome.create(oneServer);
    await using served = await home.serve();
    const { socket } = placeOf(home);
    const say = (text: string | Buffer) =>
      new Promise<string>((resolve) => {
        let heard = '';
        const peer = createConnection(socket);
        peer.on('data', (chunk) => {
          heard += chunk;
        });
        peer.on('close', () => resolve(heard));
        peer.on('error', () => resolve(heard));
        peer.end(text);
      });
    const hello = (more: object = {}) =>
      `${JSON.stringify({ hello: 'holdfast', versions: [1], program: 'x', as: 'operator', ...more })}\n`;
    expect(await say('')).toMatch(/refused/);
    expect(await say('GET / HTTP/1.1\r\n\r\n')).toMatch(/"refused":"greeting"/);
    expect(await say('{"constructor":1}\n')).toMatch(/"refused":"greeting"/);
    expect(await say(`${'x'.repeat(100_000)}\n`)).toMatch(/refused/);
    expect(await say(hello({ versions: [2, 3] }))).toMatch(
      /"refused":"version".*do not understand/,
    );
    expect(await say(`${hello()}nonsense\n`)).toMatch(/welcome/);
    const asked = (request: unknown) => say(`${hello()}${JSON.stringify(request)}\n`);
    for (const request of [
      { id: 1, request: { ask: 'constructor' } },
      { id: 1, request: { ask: 'stop' } },
      { id: 1, request: { ask: '__proto__', server: 'files' } },
      { id: 'x' },
      [],
      null,
    ]) {
      expect(await asked(request)).toMatch(/"fault":\{.*invalid_request/);
    }
    expect(await asked({ id: 7, request: { ask: 'stop', server: '__proto__' } })).toMatch(
      /not_found/,
    );
    const silent = Array.from({ length: 50 }, () => createConnection(socket));
    await pidOf(home);
    for (const peer of silent) peer.destroy();
    const { status } = await statusOf(home);
    expect(status.internalErrors).toBe(0);
    expect((await served.stop()).stderr).toBe('');
  });

  it('of a state directory that cannot be written is missing, and the gateway runs without #one-instance', async () => {
    await using home = await GatewayHome.create(oneServer);
    writeFileSync(home.state, 'a file');
    await using served = await home.serve();
    using client = new HttpClient(served.url);
    expect((await client.call('files__whoami')).result.isError).not.toBe(true);
    const { stderr } = await served.stop();
    expect(stderr).toContain('cannot be used');
  });

  it('is reached although its config cannot be used any more, or is gone #one-instance', async () => {
    await using home = await GatewayHome.create({ mcpServers: { files: faultyStdio() } });
    await using _served = await home.serve();
    expect((await home.run(['start', 'files'])).code).toBe(0);
    writeFileSync(home.configFile, '{ "mcpServers": { "files": { "comand": "x" } } }');
    for (const args of [['status'], ['logs', 'files'], ['stop', 'files'], ['start', 'files']]) {
      const { code, stderr } = await home.run(args);
      expect([args, code]).toEqual([args, 0]);
      expect(stderr).toContain('the running instance uses the config before');
    }
    const uses = {
      'call files/echo text=x': 'x',
      tools: 'files/echo',
      'tools files': 'files/echo',
      'tools files/echo': 'Replay',
      'search echo': 'files/echo',
      'check files files/echo': 'files/echo ready',
    };
    for (const [words, shown] of Object.entries(uses)) {
      const { code, stdout, stderr } = await home.run(words.split(' '));
      expect([words, code, stdout]).toEqual([words, 0, expect.stringContaining(shown)]);
      expect([words, stderr.split('\n').filter((line) => line.includes('comand'))]).toEqual([
        words,
        [expect.stringContaining('the running instance uses the config before')],
      ]);
    }
    const unknown = await home.run(['call', 'files__echo']);
    expect([unknown.code, unknown.stderr]).toEqual([
      2,
      expect.stringContaining('here write: holdfast call'),
    ]);
    rmSync(home.configFile);
    expect((await home.run(['status'])).code).toBe(0);
    const { code, stderr } = await home.run(['shutdown']);
    expect([code, stderr]).toEqual([0, expect.stringContaining('uses the config before')]);
  });
});
