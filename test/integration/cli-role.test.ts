// The command `holdfast role`, and what `status` and `doctor` say of roles and tokens.

import { describe, expect, it } from 'vitest';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { until } from '../support/until.ts';

const config = {
  mcpServers: {
    files: faultyStdio(),
    other: {
      command: process.execPath,
      args: ['-e', 'process.stdin.resume()', 'other'],
      startTimeoutMs: 1_000,
    },
  },
  roles: {
    reader: { allow: ['files/ech*', 'files/misspelt'], deny: ['files/eho', 'flies/*'] },
    all: { allow: ['*'] },
  },
  http: { auth: 'token' },
};

describe('holdfast role', () => {
  it('shows each tool with the reason for each no, from stored lists, and starts nothing #command-line', async () => {
    await using home = await GatewayHome.create(config);
    const before = await home.run(['role', 'reader']);
    expect(before.code, before.stderr).toBe(0);
    expect(before.stdout).toContain('files: not known yet: tools');
    expect((await home.run(['tools', 'files'])).code).toBe(0);
    const { stdout } = await home.run(['role', 'reader', '--json']);
    const { things, unknown, everything } = JSON.parse(stdout);
    const tools = things.filter(({ server }: { server: string }) => server === 'files');
    const named = (name: string) => tools.find((one: { name: string }) => one.name === name);
    expect(named('echo')).toMatchObject({ allowed: true, reason: null });
    const denied = tools.filter(({ allowed }: { allowed: boolean }) => !allowed);
    expect(denied.length).toBeGreaterThan(0);
    for (const { reason } of denied) expect(reason).toContain('no pattern in "allow"');
    expect(unknown.map(({ server }: { server: string }) => server)).toContain('other');
    expect(everything).toBe(false);
    const status = JSON.parse((await home.run(['status', '--json'])).stdout);
    expect(status.servers.map(({ pid }: { pid: number | null }) => pid)).toEqual([null, null]);
  });

  it('lists the roles, and says which are near an unknown one #command-line', async () => {
    await using home = await GatewayHome.create(config);
    const listed = await home.run(['role']);
    expect(listed.stdout).toBe('reader: 2 allowed, 2 denied patterns\nall: everything\n');
    const unknown = await home.run(['role', 'raeder']);
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain("did you mean 'reader'?");
  });
});

describe('holdfast role --wait', () => {
  it('reads the lists that nobody has read, and keeps them #command-line', async () => {
    const { files } = config.mcpServers;
    await using home = await GatewayHome.create({ ...config, mcpServers: { files } });
    const waited = await home.run(['role', 'reader', '--wait', '30']);
    expect(waited.code, waited.stderr).toBe(0);
    expect(waited.stdout).toContain('tool echo');
    expect(waited.stdout).not.toContain('not known yet');
    expect((await home.run(['role', 'reader'])).stdout).toBe(waited.stdout);
    expect((await home.run(['role', 'reader', '--wait', 'x'])).code).toBe(2);
  });
});

describe('status and doctor', () => {
  it('say which roles may use everything, which tokens there are, and what is wrong with them #command-line', async () => {
    await using home = await GatewayHome.create(config);
    await home.run(['token', 'add', '--role', 'all', '--name', 'lost']);
    const { stdout } = await home.run(['status']);
    expect(stdout).toContain('The role all may use everything');
    expect(stdout).toContain('1 token with a role');
    expect(JSON.parse((await home.run(['status', '--json'])).stdout).access).toEqual({
      auth: 'token',
      local: null,
      roles: [
        { name: 'reader', everything: false },
        { name: 'all', everything: true },
      ],
      tokens: 1,
    });
    await home.configure({
      ...config,
      roles: { reader: config.roles.reader },
      http: { auth: 'none' },
    });
    const open = await home.run(['status']);
    expect(open.stdout).toContain('http.auth is "none"');
    const doctor = await home.run(['doctor', '--json']);
    expect(doctor.code).toBe(1);
    const { checks } = JSON.parse(doctor.stdout);
    const texts = checks.map(({ kind, text }: { kind: string; text: string }) => `${kind} ${text}`);
    expect(texts).toContain(
      'note "files/misspelt" in "allow" of the role \'reader\' matches nothing that the servers have listed so far',
    );
    expect(texts).toContain(
      'finding "files/eho" in "deny" of the role \'reader\' matches nothing that the servers have listed so far, so it denies nothing',
    );
    expect(texts.join('\n')).toContain('finding serve is refusing to start: "http.auth"');
    const unstarted = await home.run(['doctor', '--no-start']);
    expect(unstarted.stdout).toContain('did you mean "files/*"?');
    expect(texts).toContain(
      "finding the token 'lost' may use nothing, because the config has no role 'all'",
    );
  });
});

describe('holdfast status and role', () => {
  it('say what is spent of the budgets of roles, also of a token that made its call before a restart #budget', async () => {
    const { files } = config.mcpServers;
    const budget = { calls: 5, perMinute: 3 };
    await using home = await GatewayHome.create({
      mcpServers: { files },
      roles: { reader: { allow: ['files/*'], budget }, writer: { allow: ['files/*'], budget } },
      http: { auth: 'token' },
    });
    const none = JSON.parse((await home.run(['status', '--json'])).stdout);
    expect(none.budgets).toBeNull();
    const spentBy = async (role: string) =>
      JSON.parse((await home.run(['role', role, '--json'])).stdout).spent;
    expect(await spentBy('reader')).toBeNull();
    const { stdout } = await home.run(['token', 'add', '--json', '--role', 'reader']);
    const { token, id } = JSON.parse(stdout) as { token: string; id: string };
    const first = await home.serve();
    using client = new HttpClient(first.url, { authorization: `Bearer ${token}` });
    const call = { name: 'files__echo', arguments: { text: 'a' } };
    expect((await client.modern('tools/call', call)).status).toBe(200);
    const counted = [{ limit: 'calls', limitValue: 5, spent: 1, freesAt: null }];
    const minute = { limit: 'perMinute', limitValue: 3, spent: 1, freesAt: expect.any(Number) };
    const own = { role: 'reader', per: 'principal', principal: `token:${id}` };
    const told = JSON.parse((await home.run(['status', '--json'])).stdout);
    const spent = [{ ...own, limits: [...counted, minute] }];
    expect(told.budgets).toEqual(spent);
    expect(await spentBy('reader')).toEqual(spent);
    expect(await spentBy('writer')).toEqual([]);
    expect((await home.run(['role', 'reader'])).stdout).toContain(`token:${id}: 1 of 5 calls`);
    await first.stop();
    await using second = await home.serve();
    expect(second.pid).not.toBe(first.pid);
    // Nothing waits for it to be read.
    const line = `token:${id} (reader): 1 of 5 calls`;
    await until(async () => (await home.run(['status'])).stdout.includes(line), 'it is told');
  });
});
