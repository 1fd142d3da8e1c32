// The command `holdfast serve` from outside: who may come in, what it says when it cannot start, and
// how it ends.

import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient, modernRequest } from '../support/gateway-http-client.ts';
import { callIn, isCancelledIn, recorded } from '../support/gateway-recorded.ts';
import { processesWith } from '../support/host.ts';
import { until } from '../support/until.ts';

const guarded = { mcpServers: { files: faultyStdio() }, http: { auth: 'token' } };

/** Every file below, as text; but for those that are being written, which may be gone in a moment. */
function contents(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => !name.endsWith('.tmp'))
    .map((name) => join(folder, name))
    .filter((path) => lstatSync(path).isFile())
    .map((path) => readFileSync(path, 'latin1'));
}

async function statusWith(url: string, headers: Record<string, string>): Promise<number> {
  using client = new HttpClient(url, headers);
  return (await client.modern('tools/list')).status;
}

describe('the token', () => {
  it('is created at the first start, shown once, stored only as a hash, and required from then on', async () => {
    await using home = await GatewayHome.create(guarded);
    const first = await home.serve();
    const secret = first.token ?? '';
    expect(secret).toMatch(/^hf_[\w-]{43}$/);
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
    expect(await statusWith(first.url, bearer(secret))).toBe(200);
    const wrong = [{}, bearer(`${secret}x`), bearer(secret.slice(1)), { authorization: secret }];
    for (const headers of wrong) expect(await statusWith(first.url, headers)).toBe(401);
    expect(await first.stop()).toMatchObject({ code: 0, stderr: '' });
    expect(contents(home.state).length).toBeGreaterThan(0);
    for (const text of contents(home.state)) expect(text).not.toContain(secret.slice(3));

    const second = await home.serve();
    expect(second.token).toBeNull();
    expect(await statusWith(second.url, bearer(secret))).toBe(200);
    expect(await statusWith(second.url, bearer('hf_something'))).toBe(401);
    const { stdout } = await second.stop();
    expect(stdout).not.toContain('hf_');
  });

  it('is in a config that is ready to be pasted, the first time only', async () => {
    await using home = await GatewayHome.create(guarded);
    const page = async () => {
      const started = home.start(['--listen', '127.0.0.1:0']);
      await started.printed('Ctrl-C');
      return (await started.stop()).stdout;
    };
    const shown = await page();
    const config = JSON.parse(shown.slice(shown.indexOf('{'), shown.lastIndexOf('}') + 1));
    const { url, headers } = config.mcpServers.holdfast;
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/);
    expect(shown.split('hf_')).toHaveLength(2);
    expect(await page()).not.toContain('hf_');
    await using served = await home.serve();
    expect(await statusWith(served.url, headers)).toBe(200);
  });

  it('that cannot be kept is shown as such, is good meanwhile, and is kept as soon as it can be #kept-or-refused', async () => {
    await using home = await GatewayHome.create(guarded);
    const tokens = join(home.state, 'store', 'tokens');
    mkdirSync(join(home.state, 'store'), { recursive: true, mode: 0o700 });
    // It leads nowhere: nothing can be read there, and nothing written.
    symlinkSync(join(home.state, 'nowhere'), tokens);
    const page = home.start(['--listen', '127.0.0.1:0']);
    await page.printed('Ctrl-C');
    const { stdout, stderr } = await page.stop();
    expect(stdout).toContain('It could not be stored: ');
    expect(stdout).not.toContain('only its hash is stored');
    expect(stderr).toContain(tokens);

    const served = await home.serve();
    const headers = { authorization: `Bearer ${served.token}` };
    expect(served.tokenKept).toBe(false);
    expect(await statusWith(served.url, headers)).toBe(200);
    await rm(tokens);
    const isKept = () => contents(join(home.state, 'store')).some((text) => text.includes('local'));
    await until(isKept, 'the token is on the disk');
    await served.stop();
    await using again = await home.serve();
    expect([again.token, again.tokenKept]).toEqual([null, null]);
    expect(await statusWith(again.url, headers)).toBe(200);
  });
});

describe('the address', () => {
  it('is the real one; for a wildcard address, the one for this machine is named too #command-line', async () => {
    await using home = await GatewayHome.create(guarded);
    const started = home.start(['--listen', '0.0.0.0:0']);
    await started.printed('Ctrl-C');
    const { stdout } = await started.stop();
    const [, port] = /listens on http:\/\/0\.0\.0\.0:(\d+)\/mcp\n/.exec(stdout) ?? [];
    expect(port, stdout).toBeDefined();
    expect(stdout).toContain(`On this machine use http://127.0.0.1:${port}/mcp`);
    expect(stdout).toContain(`"url": "http://127.0.0.1:${port}/mcp"`);
    const other = home.start(['--listen', '0.0.0.0:0', '--json']);
    await other.printed('\n');
    await other.stop();
    const { url, listen } = JSON.parse(other.stdout);
    expect(listen).toMatch(/^0\.0\.0\.0:\d+$/);
    expect(url).toBe(`http://${listen.replace('0.0.0.0', '127.0.0.1')}/mcp`);
  });

  it('is named once where it is that of one interface #command-line', async () => {
    await using home = await GatewayHome.create();
    const started = home.start(['--listen', '127.0.0.1:0']);
    await started.printed('Ctrl-C');
    const { stdout } = await started.stop();
    expect(stdout).toMatch(/^Holdfast \S+ listens on http:\/\/127\.0\.0\.1:\d+\/mcp\n/);
    expect(stdout).not.toContain('On this machine');
  });
});

describe('a server that lacks something', () => {
  it('is named at the start; one that is switched off is not #command-line', async () => {
    const { command } = faultyStdio();
    await using home = await GatewayHome.create({
      mcpServers: {
        files: faultyStdio(),
        token: { command, env: { KEY: '$' + '{env:NO_SUCH_TOKEN}' } },
        off: { command, disabled: true },
      },
    });
    const started = home.start(['--listen', '127.0.0.1:0']);
    await started.printed('Ctrl-C');
    const { stderr } = await started.stop();
    expect(stderr).toMatch(/^holdfast: token is disabled: .*NO_SUCH_TOKEN, which is not set.*\n$/);
  });
});

describe('a start that cannot be', () => {
  async function refusal(home: GatewayHome, args: readonly string[]) {
    const { code, stdout, stderr } = await home.start(args).ended;
    expect(stdout).toBe('');
    expect(stderr.trimEnd().split('\n'), stderr).toHaveLength(1);
    expect(stderr).not.toMatch(/\.(?:js|ts):\d|node:internal/);
    return { code, stderr };
  }

  it('without authentication on an address that others reach is refused #command-line', async () => {
    await using home = await GatewayHome.create({ mcpServers: {}, http: { auth: 'none' } });
    for (const address of ['0.0.0.0:0', '[::]:0']) {
      const { code, stderr } = await refusal(home, ['--listen', address]);
      expect(code).toBe(2);
      expect(stderr).toContain('without authentication');
      expect(stderr).toContain('http.auth');
    }
  });

  it('on a port that is in use says so #command-line', async () => {
    const taken = createServer((socket) => void socket.destroy());
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as { port: number };
    await using home = await GatewayHome.create();
    const { code, stderr } = await refusal(home, ['--listen', `127.0.0.1:${port}`]);
    expect(code).toBe(3);
    expect(stderr).toContain(
      `cannot listen on 127.0.0.1:${port}: port ${port} is in use by another`,
    );
    expect(stderr).toContain(`holdfast serve --config ${home.configFile} --listen 127.0.0.1:0`);
    // What helps a server that does not start does not help here.
    expect(stderr).not.toMatch(/doctor|by hand/);
    await new Promise((resolve) => taken.close(resolve));
  });

  it('on a port that is in use leaves no token behind that nobody has seen #tokens', async () => {
    const taken = createServer((socket) => void socket.destroy());
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as { port: number };
    await using home = await GatewayHome.create({ mcpServers: {}, http: { auth: 'token' } });
    expect((await refusal(home, ['--listen', `127.0.0.1:${port}`])).code).toBe(3);
    await new Promise((resolve) => taken.close(resolve));
    await using served = await home.serve();
    expect(served.token).toMatch(/^hf_/);
  });

  it('on the port of another gateway says that it is one #command-line', async () => {
    await using home = await GatewayHome.create();
    await using other = await GatewayHome.create();
    await using served = await other.serve();
    const { host } = new URL(served.url);
    const { code, stderr } = await refusal(home, ['--listen', host]);
    expect(code).toBe(3);
    expect(stderr).toMatch(/in use by another Holdfast gateway \(version \S+\); .*127\.0\.0\.1:0/);
  });

  it('on stdio and on a port at once is refused #command-line', async () => {
    await using home = await GatewayHome.create();
    const { code, stderr } = await refusal(home, ['--stdio', '--listen', '127.0.0.1:0']);
    expect(code).toBe(2);
    expect(stderr).toMatch(/--stdio and --listen cannot be combined.*holdfast serve --help/);
  });

  it.each([
    ['that is no address', ['--listen', 'nowhere'], 'HOST:PORT'],
    ['with a word it does not know', ['--lisen', '127.0.0.1:0'], '--listen'],
  ])('%s says what is meant #command-line', async (_what, args, advice) => {
    await using home = await GatewayHome.create();
    const { code, stderr } = await home.start(args).ended;
    expect(code).toBe(2);
    expect(stderr).toContain(advice);
  });

  it.each([
    ['is no JSON', '{ "mcpServers": ', 'holdfast.json'],
    ['has a key it must not have', '{ "mcpServers": {}, "nameing": "prefix" }', 'naming'],
    ['says nothing of how to run a server', '{ "mcpServers": { "x": {} } }', 'x'],
    ['names no such surface', '{ "mcpServers": {}, "surface": "all" }', 'surface'],
  ])(
    'with a config that %s names the place, on HTTP and on stdio #config',
    async (_what, text, place) => {
      await using home = await GatewayHome.create();
      await writeFile(home.configFile, text);
      for (const args of [['--listen', '127.0.0.1:0'], ['--stdio']]) {
        const { code, stderr } = await home.start(args).ended;
        expect(code).toBe(2);
        expect(stderr).toContain(place);
        expect(stderr).not.toMatch(/\.(?:js|ts):\d+:|node:internal/);
      }
    },
  );

  it('without a config says where one is looked for #config', async () => {
    await using home = await GatewayHome.create();
    const { code, stderr } = await home.start(['--config', home.file('none.json'), '--stdio'])
      .ended;
    expect(code).toBe(2);
    expect(stderr).toContain('none.json');
    await rm(home.configFile);
    const nowhere = await home.startWithoutConfig(['--stdio']).ended;
    expect(nowhere.code).toBe(2);
    expect(nowhere.stderr).toContain('holdfast.json');
  });
});

describe('SIGTERM', () => {
  it('during calls tells their servers, ends everything and leaves nothing #command-line', async () => {
    await using home = await GatewayHome.create();
    const record = (name: string) => home.file(`${name}.jsonl`);
    const server = (era: 'legacy' | 'modern') => recorded(faultyStdio({ era }), record(era));
    const mcpServers = { legacy: server('legacy'), modern: server('modern') };
    await home.configure({ mcpServers, drainMs: 200 });
    const served = await home.serve();
    using client = new HttpClient(served.url);
    const session = await client.session();
    const listening = await session.listen();
    const outcomes: Promise<unknown>[] = [];
    for (const name of Object.keys(mcpServers)) {
      const call = (nonce: string) => ({
        name: `${name}__slow`,
        arguments: { ms: 600_000, nonce },
      });
      outcomes.push(
        client.begin(modernRequest('tools/call', call('of a modern client'))).answered,
        session.begin('tools/call', call('of a legacy client'), name).answered,
      );
    }
    const nonces = ['of a modern client', 'of a legacy client'];
    const calls = Object.keys(mcpServers).flatMap((name) =>
      nonces.map((nonce) => ({ server: name, nonce })),
    );
    const arrived = calls.map(
      ({ server, nonce }) =>
        () =>
          callIn(record(server), nonce),
    );
    await until(() => arrived.every((call) => call() !== undefined), 'the calls to arrive');
    const settled = Promise.allSettled(outcomes);
    const { code, stderr } = await served.stop();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    await settled;
    await listening.ended();
    expect(processesWith(home.folder)).toEqual([]);
    expect(calls.filter(({ server, nonce }) => !isCancelledIn(record(server), nonce))).toEqual([]);
  });

  it('over stdio ends everything as well', async () => {
    await using home = await GatewayHome.create({ mcpServers: { files: faultyStdio() } });
    const client = home.stdio();
    await client.initialize();
    client.send({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'files__slow', arguments: { ms: 600_000 } },
    });
    await client.ask('ping', {}, 'after');
    const { code, stderr } = await client.kill('SIGTERM');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(processesWith(home.folder)).toEqual([]);
  });
});
