// Every combination of settings and files that would let strangers in: the gateway refuses to start with one
// line that says what to set, or starts and lets nobody in. The built program, each row in a home of its own.

import { chmodSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';

const roles = { reader: { allow: ['files/*'] } };

interface Row {
  readonly what: string;
  readonly http: object;
  readonly listen: string;
  /** What is done before, in a home that has a token with a role. */
  readonly prepare?: (home: GatewayHome) => void;
  readonly hasToken?: boolean;
  /** What the line says to set. */
  readonly told: RegExp;
}

const here = '127.0.0.1:0';
const tokenFolder = (home: GatewayHome) => join(home.place.folder, 'store', 'tokens');
const recordIn = (home: GatewayHome) => {
  const [name = ''] = readdirSync(tokenFolder(home));
  return join(tokenFolder(home), name);
};
const open = { auth: 'none' };
const guarded = { auth: 'token' };

const refused: readonly Row[] = [
  { what: 'every address', http: open, listen: '0.0.0.0:0', told: /set "http.auth" to "token"/ },
  { what: 'every IPv6 address', http: open, listen: '[::]:0', told: /set "http.auth" to "token"/ },
  {
    what: 'an address that is not ours',
    http: open,
    listen: '192.0.2.1:0',
    told: /set "http.auth" to "token"/,
  },
  {
    what: 'another name',
    http: open,
    listen: 'gateway.example.com:0',
    told: /set "http.auth" to "token"/,
  },
  {
    what: 'an address in the config',
    http: { ...open, listen: '0.0.0.0:0' },
    listen: '',
    told: /set "http.auth" to "token"/,
  },
  {
    what: 'a name of others',
    http: { ...open, allowedHosts: ['gw.example.com'] },
    listen: here,
    told: /set "http.auth" to "token", or remove the name/,
  },
  {
    what: 'pages of others',
    http: { ...open, allowedOrigins: ['https://a.example.com'] },
    listen: here,
    told: /set "http.auth" to "token", or remove the origin/,
  },
  {
    what: 'tokens with roles',
    http: open,
    listen: here,
    hasToken: true,
    told: /set "http.auth" to "token", or revoke/,
  },
  {
    what: 'a record that all can read',
    http: guarded,
    listen: here,
    hasToken: true,
    prepare: (home) => chmodSync(recordIn(home), 0o644),
    told: /chmod -R go= /,
  },
  {
    what: 'a record that the group can write',
    http: guarded,
    listen: here,
    hasToken: true,
    prepare: (home) => chmodSync(recordIn(home), 0o620),
    told: /chmod -R go= /,
  },
  {
    what: 'a folder that all can write',
    http: guarded,
    listen: here,
    hasToken: true,
    prepare: (home) => chmodSync(tokenFolder(home), 0o777),
    told: /chmod -R go= /,
  },
  {
    what: 'an unknown kind of authentication',
    http: { auth: 'off' },
    listen: here,
    told: /http\.auth/,
  },
];

async function homeOf({ http, hasToken, prepare }: Omit<Row, 'what' | 'told' | 'listen'>) {
  const home = await GatewayHome.create({ mcpServers: {}, roles, http });
  let secret = '';
  if (hasToken === true) {
    const { stdout } = await home.run(['token', 'add', '--role', 'reader', '--json']);
    secret = JSON.parse(stdout).token;
  }
  prepare?.(home);
  return { home, secret };
}

async function statusWith(url: string, token: string): Promise<number> {
  using client = new HttpClient(url, { authorization: `Bearer ${token}` });
  return (await client.modern('tools/list')).status;
}

describe('a start', () => {
  it.each(refused)('is refused in one line: $http.auth, $what #secure-start', async (row) => {
    const { home, secret } = await homeOf(row);
    await using _home = home;
    const ended = await home.start(row.listen === '' ? [] : ['--listen', row.listen]).ended;
    expect(ended.code).toBe(2);
    expect(ended.stdout).toBe('');
    expect(ended.stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(ended.stderr).toMatch(row.told);
    if (secret !== '') expect(ended.stderr).not.toContain(secret.slice(3));
  });

  it('with a damaged record lets nobody in by it, says so, and makes no other token #secure-start', async () => {
    const { home, secret } = await homeOf({
      http: guarded,
      hasToken: true,
      prepare: (made) => writeFileSync(recordIn(made), 'damaged', { mode: 0o600 }),
    });
    await using _home = home;
    const served = await home.serve();
    expect(served.token).toBeNull();
    expect(await statusWith(served.url, secret)).toBe(401);
    const { stderr } = await served.stop();
    expect(stderr).toContain('is damaged');
  });

  it('on loopback without authentication, and elsewhere with it, is allowed', async () => {
    for (const [http, listen] of [
      [open, here],
      [guarded, '0.0.0.0:0'],
    ] as const) {
      const { home } = await homeOf({ http });
      await using _home = home;
      const started = home.start(['--listen', listen, '--json']);
      await started.printed('\n');
      expect((await started.stop()).code).toBe(0);
    }
  });
});
