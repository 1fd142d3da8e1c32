// The command `holdfast token` and gateways that run meanwhile: a token that is added is accepted and one
// that is revoked ends within a second, without a word to the gateway; and only at the gateways of its config.

import {
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandLine } from '../support/command-line.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { phases } from '../support/ledger.ts';
import { until } from '../support/until.ts';

const config = {
  mcpServers: { files: faultyStdio(), other: faultyStdio() },
  http: { auth: 'token' },
  roles: { reader: { allow: ['files/*'] }, all: { allow: ['*'] } },
};

async function added(home: GatewayHome, ...words: string[]) {
  const { stdout, stderr, code } = await home.run(['token', 'add', '--json', ...words]);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout) as { token: string; id: string; name: string };
}

async function statusWith(url: string, token: string): Promise<number> {
  using client = new HttpClient(url, { authorization: `Bearer ${token}` });
  return (await client.modern('tools/list')).status;
}

function contents(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.tmp'))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n');
}

/** The file with the record of this token. */
function recordOf(home: GatewayHome, id: string): string {
  const found = readdirSync(home.state, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.record') && name.includes('/tokens/'))
    .map((name) => join(home.state, name))
    .filter((file) => readFileSync(file, 'utf8').includes(`"${id}"`));
  expect(found).toHaveLength(1);
  return found[0] ?? '';
}

/** The same content, at another place. */
function linked(file: string): void {
  writeFileSync(`${file}.moved`, readFileSync(file));
  rmSync(file);
  symlinkSync(`${file}.moved`, file);
}

describe('a token', () => {
  it('is accepted by a running gateway as soon as it is added, and has its role #tokens', async () => {
    await using home = await GatewayHome.create(config);
    await using served = await home.serve();
    const { token } = await added(home, '--role', 'reader');
    await until(async () => (await statusWith(served.url, token)) === 200, 'it is accepted');
    using client = new HttpClient(served.url, { authorization: `Bearer ${token}` });
    const { json } = await client.modern('tools/list');
    const names = json.result.tools.map(({ name }: { name: string }) => name);
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter((name: string) => !name.startsWith('files__'))).toEqual([]);
    expect(contents(home.state)).not.toContain(token.slice(3));
    // Its use is known soon, without a request having waited for it.
    await until(async () => {
      const { stdout } = await home.run(['token', 'list', '--json']);
      return JSON.parse(stdout).tokens.some(
        ({ role, lastUsedAt }: { role: string; lastUsedAt: number | null }) =>
          role === 'reader' && lastUsedAt !== null,
      );
    }, 'its use is listed');
  });

  it('that is revoked ends its stream and its session, and is refused from then on #revoked', async () => {
    await using home = await GatewayHome.create(config);
    const [one, two] = [await added(home, '--role', 'reader'), await added(home, '--role', 'all')];
    await using served = await home.serve();
    // There are tokens, so none is made for the local user.
    expect(served.token).toBeNull();
    const clientOf = ({ token }: { token: string }) =>
      new HttpClient(served.url, { authorization: `Bearer ${token}` });
    using client = clientOf(one);
    using other = clientOf(two);
    const streams: Awaited<ReturnType<HttpClient['open']>>[] = [];
    for (const each of [client, other]) {
      const { id } = await each.session();
      const headers = { accept: 'text/event-stream', 'mcp-session-id': id };
      streams.push(await each.open({ method: 'GET', headers }));
    }
    expect(streams.map(({ response }) => response.statusCode)).toEqual([200, 200]);
    const { stdout } = await home.run(['token', 'revoke', 'reader']);
    expect(stdout).toBe(`The token 'reader' (${one.id}) is revoked\n`);
    await until(() => streams[0]?.response.destroyed === true, 'the stream has ended');
    expect(await statusWith(served.url, one.token)).toBe(401);
    expect(await statusWith(served.url, two.token)).toBe(200);
    expect(streams[1]?.response.destroyed).toBe(false);
  });

  it('that is revoked has its running calls answered with an error before they end #revoked', async () => {
    await using home = await GatewayHome.create(config);
    const ledger = home.file('ledger.jsonl');
    await home.configure({ ...config, mcpServers: { files: faultyStdio({ ledger }) } });
    const { token } = await added(home, '--role', 'reader');
    await using served = await home.serve();
    using client = new HttpClient(served.url, { authorization: `Bearer ${token}` });
    const call = (nonce: string) => ({
      name: 'files__add',
      arguments: { key: 'a', amount: 1, nonce, fault: { kind: 'hang', effect: true } },
    });
    const session = await client.session();
    const events = await client.open({
      method: 'GET',
      path: '/sse',
      headers: { accept: 'text/event-stream' },
    });
    const path = (await events.next()).data ?? '';
    const headers = { 'content-type': 'application/json' };
    const say = async (body: object) => {
      const { status } = await client.ask({ path, headers, body: { jsonrpc: '2.0', ...body } });
      expect(status).toBe(202);
    };
    const params = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 't' } };
    await say({ id: 1, method: 'initialize', params });
    await say({ id: 'old', method: 'tools/call', params: call('old') });
    const answers = [
      client.modern('tools/call', call('modern')),
      session.begin('tools/call', call('session'), 'own').answered,
    ];
    const nonces = ['old', 'modern', 'session'];
    await until(
      () => nonces.every((nonce) => phases(ledger, nonce).length > 0),
      'the calls to arrive',
    );
    expect((await home.run(['token', 'revoke', 'reader'])).code).toBe(0);
    const error = { code: -32000, message: expect.stringContaining('may have run') };
    for (const answer of answers) expect((await answer).json).toMatchObject({ error });
    await events.ended();
    expect(JSON.parse(events.events.at(-1)?.data ?? '')).toMatchObject({ id: 'old', error });
    expect((await client.modern('tools/list')).status).toBe(401);
  });

  it.each([
    ['emptied in its place', (file: string) => truncateSync(file), 'is damaged'],
    ['replaced by a link', linked, 'cannot be read (ELOOP)'],
  ])(
    'whose record is %s ends while the gateway runs, with a line that says so #revoked',
    async (_, spoil, said) => {
      await using home = await GatewayHome.create(config);
      const { token, id } = await added(home, '--role', 'reader');
      const other = await added(home, '--role', 'all');
      await using served = await home.serve();
      // By then its records are not read any more without a reason.
      await until(async () => {
        const { stdout } = await home.run(['status', '--json']);
        return JSON.parse(stdout).uptimeMs > 3_000;
      }, 'its first looks at the tokens are over');
      expect(await statusWith(served.url, token)).toBe(200);
      const file = recordOf(home, id);
      spoil(file);
      await until(async () => (await statusWith(served.url, token)) === 401, 'it is refused');
      expect(await statusWith(served.url, other.token)).toBe(200);
      const { stderr } = await served.stop();
      expect(stderr.split('\n').filter((line) => line.includes(file))).toEqual([
        expect.stringContaining(said),
      ]);
    },
  );

  it('belongs to its config: the gateway of another one of the same user knows nothing of it #tokens', async () => {
    await using home = await GatewayHome.create(config);
    const { token } = await added(home, '--role', 'all', '--name', 'mine');
    await using other = await GatewayHome.create({ mcpServers: {}, http: { auth: 'token' } });
    const sameUser = { HOLDFAST_STATE: home.state };
    const listed = await other.run(['token', 'list', '--json'], sameUser);
    expect(JSON.parse(listed.stdout)).toEqual({ tokens: [], credentials: [] });
    expect((await other.run(['token', 'revoke', 'mine'], sameUser)).code).toBe(2);
    const first = await other.serve(undefined, sameUser);
    const local = first.token ?? '';
    expect(await statusWith(first.url, token)).toBe(401);
    expect(await statusWith(first.url, local)).toBe(200);
    await first.stop();
    // The token of the local user is valid here, too; a revoked one is not.
    await using served = await home.serve();
    expect(await statusWith(served.url, local)).toBe(200);
    expect(await statusWith(served.url, token)).toBe(200);
    expect((await home.run(['token', 'revoke', 'local'])).code).toBe(0);
    await until(async () => (await statusWith(served.url, local)) === 401, 'it is refused');
  });

  it('can be listed and revoked although the config has a mistake #tokens', async () => {
    await using home = await GatewayHome.create(config);
    await added(home, '--role', 'all', '--name', 'mine');
    writeFileSync(home.configFile, '{ "mcpServers": ');
    expect((await home.run(['token', 'list'])).stdout).toContain('mine');
    expect((await home.run(['token', 'revoke', 'mine'])).code).toBe(0);
    expect((await home.run(['token', 'add', '--role', 'all'])).code).toBe(2);
    const { stdout } = await home.run(['token', 'list']);
    expect(stdout).toContain('No tokens.');
  });

  it.each([
    [['add'], 2, '--role ROLE; the roles of '],
    [['add', '--role', 'raeder'], 2, "did you mean 'reader'?"],
    [['add', '--role', 'reader', '--expires', '0h'], 2, 'at least a minute'],
    [['add', '--role', 'reader', '--name', 'a/b'], 2, 'cannot be the name of a token'],
    [['revoke', 'nobody'], 2, "there is no token 'nobody'"],
    [['revoke'], 2, 'NAME|ID'],
    [[], 2, 'token what? See: holdfast token --help'],
  ])('%j ends with %s and the next step #command-line', async (words, code, told) => {
    await using home = await GatewayHome.create(config);
    const ended = await home.run(['token', ...words]);
    expect(ended.code).toBe(code);
    expect(ended.stderr).toContain(told);
    expect(ended.stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(ended.stdout).toBe('');
  });

  it('is the only thing on standard output when it is added #command-line', async () => {
    await using home = await GatewayHome.create(config);
    const { stdout, stderr } = await home.run([
      'token',
      'add',
      '--role',
      'all',
      '--expires',
      '12h',
    ]);
    expect(stdout).toMatch(/^hf_[\w-]{43}\n$/);
    expect(stderr).toContain("'all'");
    expect(stderr).not.toContain(stdout.trim());
  });
});

describe('a credential of the broker', () => {
  it('is added, listed and revoked, in the directory of the config or one that is named #broker-identity', async () => {
    await using home = await GatewayHome.create(config);
    const ann = ['--worker', 'ann', '--role', 'reader', '--to', 'boss'];
    const { stdout, stderr } = await home.run(['token', 'add', ...ann]);
    expect(stdout).toMatch(/^hfw_[\w-]{43}\n$/);
    expect(stderr).toContain("worker 'ann' has the role 'reader', may write to boss");
    expect(stderr).toContain(`token add --config ${home.configFile} --orchestrator boss\n`);
    expect(stderr).not.toContain(stdout.trim());
    expect(contents(home.state)).not.toContain(stdout.trim().slice(4));
    const dir = home.file('elsewhere');
    const boss = await home.run(['token', 'add', '--orchestrator', 'boss', '--dir', dir]);
    expect(boss.stdout).toMatch(/^hfo_[\w-]{43}\n$/);
    expect(boss.stderr).toContain(` boss --dir ${dir}\n`);
    const names = async (...words: string[]) => {
      const listed = await home.run(['token', 'list', '--json', ...words]);
      return JSON.parse(listed.stdout).credentials.map(({ name }: { name: string }) => name);
    };
    expect(await names()).toEqual(['ann']);
    expect(await names('--dir', dir)).toEqual(['boss']);
    expect((await home.run(['token', 'list'])).stdout).toMatch(
      /ann +[0-9a-f]{16} +worker +reader +boss/,
    );
    expect((await home.run(['token', 'revoke', 'boss'])).code).toBe(2);
    const revoked = await home.run(['token', 'revoke', 'boss', '--dir', dir]);
    expect(revoked.stdout).toContain("The credential of the orchestrator 'boss'");
    expect((await home.run(['token', 'revoke', 'ann'])).code).toBe(0);
    expect([await names(), await names('--dir', dir)]).toEqual([[], []]);
  });

  it('is made once, however many commands ask for it at once #broker-identity', async () => {
    await using home = await GatewayHome.create(config);
    const words = ['token', 'add', '--worker', 'twin', '--role', 'reader', '--to', 'boss'];
    const runs = await Promise.all(Array.from({ length: 5 }, () => home.run(words)));
    expect(runs.map(({ code }) => code).toSorted()).toEqual([0, 2, 2, 2, 2]);
    const refused = runs.find(({ code }) => code === 2);
    expect(refused?.stderr).toContain("the worker 'twin' has a credential already");
  });

  it('has a role of the config, if there is one #broker-identity', async () => {
    await using home = await GatewayHome.create(config);
    const words = ['token', 'add', '--worker', 'ann', '--to', 'boss', '--dir', home.file('b')];
    const wrong = await home.run([...words, '--role', 'raeder']);
    expect([wrong.code, wrong.stderr]).toEqual([
      2,
      expect.stringContaining("did you mean 'reader'?"),
    ]);
    expect((await home.run([...words, '--role', 'reader'])).code).toBe(0);
    await using line = await commandLine();
    const away = ['token', 'add', '--worker', 'ann', '--to', 'boss', '--role', 'any'];
    const nowhere = await line.run(away);
    expect([nowhere.code, nowhere.stderr]).toEqual([2, expect.stringContaining('--dir DIR')]);
    expect((await line.run([...away, '--dir', 'b'])).code).toBe(0);
  });

  it.each([
    [['--worker', '../ann', '--role', 'reader', '--to', 'boss'], 'cannot be the name of a worker'],
    [['--worker', 'Ann', '--role', 'reader', '--to', 'boss'], 'cannot be the name of a worker'],
    [['--worker', 'a'.repeat(61), '--role', 'reader', '--to', 'boss'], '1 to 60 of a-z'],
    [['--worker', '', '--role', 'reader', '--to', 'boss'], 'cannot be the name of a worker'],
    [
      ['--worker', 'ann', '--role', 'reader', '--to', '..'],
      'cannot be the name of an orchestrator',
    ],
    [['--worker', 'ann', '--role', 'reader'], '--to ORCHESTRATOR'],
    [['--worker', 'ann', '--to', 'boss'], '--role ROLE'],
    [['--orchestrator', '..'], 'cannot be the name of an orchestrator'],
    [['--orchestrator', 'boss', '--role', 'reader'], 'an orchestrator has no role'],
    [['--orchestrator', 'boss', '--worker', 'ann'], 'cannot be combined'],
    [['--role', 'reader', '--to', 'boss'], '--to is for a worker'],
    [['--role', 'reader', '--dir', 'x'], '--dir is for credentials'],
    [['--orchestrator', 'boss', '--dir', ''], '--dir is empty'],
    [['--orchestrator', 'boss', '--dir', '/'], 'is open to other users'],
    [['--orchestrator', 'boss', '--dir', '/dev/null'], 'is not a directory'],
    [['--orchestrator', 'boss', '--expires', '0d'], 'at least a minute'],
  ])('%j is refused in one line #command-line', async (words, told) => {
    await using home = await GatewayHome.create(config);
    const ended = await home.run(['token', 'add', ...words]);
    expect(ended.stderr).toContain(told);
    expect([ended.code, ended.stdout]).toEqual([2, '']);
    expect(ended.stderr.trimEnd().split('\n')).toHaveLength(1);
  });
});
