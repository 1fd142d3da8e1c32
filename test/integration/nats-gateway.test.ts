// Gateways whose store is a NATS server: what one of them keeps, all of them know. They start without the server, and
// use it when it is there.

import { describe, expect, it } from 'vitest';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome, type Served } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { executions } from '../support/ledger.ts';
import { newNamespace, startPlainNats } from '../support/nats-store-place.ts';
import { until } from '../support/until.ts';

const password = 'p@ss/word:%1';

async function call(url: string, secret: string, nonce: string, key?: string) {
  using client = new HttpClient(url, { authorization: `Bearer ${secret}` });
  const meta = key === undefined ? {} : { 'holdfast/idempotencyKey': key };
  return await client.call('bank__add', { key: 'a', amount: 1, nonce }, meta);
}

/** Of all gateways that use one store. */
const common = (one: GatewayHome) => ({
  roles: { reader: { allow: ['bank/*'] } },
  http: { auth: 'token' },
  keyFile: one.file('holdfast.key'),
});

async function addedToken(home: GatewayHome): Promise<string> {
  return (await home.run(['token', 'add', '--role', 'reader'])).stdout.trim();
}

const faultIn = (answer: { result: { _meta?: Record<string, { code: string }> } }) =>
  answer.result._meta?.['holdfast/fault'];

async function readiness({ url }: Served): Promise<number> {
  return (await fetch(new URL('/readyz', url))).status;
}

async function ready({ url }: Served): Promise<unknown> {
  const answer = await fetch(new URL('/readyz', url));
  return [answer.status, await answer.json()];
}

describe('gateways with one NATS server as their store', () => {
  it('answer a key that another of them has used, without the effect #store-nats #idempotency-key', async () => {
    await using server = await startPlainNats();
    await using one = await GatewayHome.create();
    await using other = await GatewayHome.create();
    const ledger = one.file('ledger');
    const config = {
      mcpServers: { bank: faultyStdio({ ledger }) },
      store: `${server.url}/${newNamespace()}`,
      ...common(one),
    };
    await one.configure(config);
    await other.configure(config);
    const secret = await addedToken(one);
    const first = await one.serve();
    const { result } = await call(first.url, secret, 'one', 'one');
    expect(faultIn({ result })).toBeUndefined();
    process.kill(first.pid, 'SIGKILL');
    await first.ended;
    await using second = await other.serve();
    expect((await call(second.url, secret, 'one', 'one')).result).toEqual(result);
    expect(executions(ledger, 'one')).toBe(1);
  });

  it('start while the server is away, refuse what needs it, and take it up when it comes #store-nats', async () => {
    await using server = await startPlainNats();
    await using home = await GatewayHome.create();
    const ledger = home.file('ledger');
    const store = `${server.url}/${newNamespace()}`;
    await home.configure({ mcpServers: { bank: faultyStdio({ ledger }) }, store, ...common(home) });
    // The local user's token is on this machine.
    const earlier = await home.serve();
    const secret = earlier.token ?? '';
    await earlier.stop();
    await server.kill();
    const served = await home.serve();
    expect(await readiness(served)).toBe(503);
    expect(faultIn(await call(served.url, secret, 'plain'))).toBeUndefined();
    const refused = await call(served.url, secret, 'keyed', 'keyed');
    expect(faultIn(refused)?.code).toBe('overloaded');
    expect(executions(ledger, 'keyed')).toBe(0);
    await server.startAgain();
    await until(async () => (await readiness(served)) === 200, 'it is ready');
    expect(faultIn(await call(served.url, secret, 'keyed', 'keyed'))).toBeUndefined();
    const { stderr } = await served.stop();
    const lines = stderr.split('\n').filter((line) => line.includes(server.url));
    expect(lines).toEqual([
      expect.stringContaining('cannot be reached'),
      expect.stringContaining('is connected'),
    ]);
  });

  it('stay ready when the server goes away, and say what they lack #replicas', async () => {
    await using server = await startPlainNats();
    await using home = await GatewayHome.create();
    const ledger = home.file('ledger');
    const store = `${server.url}/${newNamespace()}`;
    await home.configure({ mcpServers: { bank: faultyStdio({ ledger }) }, store, ...common(home) });
    const secret = await addedToken(home);
    await using served = await home.serve();
    expect(await ready(served)).toEqual([200, { ready: true }]);
    await server.kill();
    const without = [200, { ready: true, store: 'failing' }];
    await until(
      async () => JSON.stringify(await ready(served)) === JSON.stringify(without),
      'it says that the store is away',
    );
    expect(faultIn(await call(served.url, secret, 'plain'))).toBeUndefined();
    const refused = await call(served.url, secret, 'keyed', 'keyed');
    expect(faultIn(refused)?.code).toBe('overloaded');
    expect(executions(ledger, 'keyed')).toBe(0);
    expect((await home.run(['status'])).stdout).toContain('cannot be reached');
  });

  it('share tokens with roles, hear of a revocation, and never show the password #store-nats #store-watch', async () => {
    const user = `authorization { user: ann, password: ${JSON.stringify(password)} }`;
    await using server = await startPlainNats(user);
    await using one = await GatewayHome.create();
    await using other = await GatewayHome.create();
    const store = `nats://ann:\${env:NATS_PASSWORD}@${new URL(server.url).host}/${newNamespace()}`;
    const config = {
      mcpServers: { bank: faultyStdio() },
      store,
      ...common(one),
    };
    for (const home of [one, other]) await home.configure(config);
    const env = { NATS_PASSWORD: password };
    const added = await one.run(['token', 'add', '--role', 'reader', '--name', 'ci'], env);
    expect([added.code, added.stderr]).toEqual([0, expect.stringContaining("The token 'ci'")]);
    const secret = added.stdout.trim();
    await using first = await one.serve(undefined, env);
    await using second = await other.serve(undefined, env);
    const gateways = [first, second];
    // A config that has tokens makes none for the local user.
    expect(gateways.map(({ token }) => token)).toEqual([null, null]);
    const status = async ({ url }: Served) => {
      using client = new HttpClient(url, { authorization: `Bearer ${secret}` });
      return (await client.modern('tools/list')).status;
    };
    for (const gateway of gateways) expect(await status(gateway)).toBe(200);
    const listed = await other.run(['token', 'list', '--json'], env);
    expect(JSON.parse(listed.stdout).tokens).toMatchObject([{ name: 'ci', role: 'reader' }]);
    const shown = await other.run(['status', '--json'], env);
    expect((await other.run(['token', 'revoke', 'ci'], env)).code).toBe(0);
    for (const gateway of gateways) {
      await until(async () => (await status(gateway)) === 401, 'it is refused');
    }
    const ended = await Promise.all(gateways.map((gateway) => gateway.stop()));
    const said = [added, listed, shown, ...ended].map(({ stdout, stderr }) => stdout + stderr);
    for (const text of [password, encodeURIComponent(password)]) {
      expect(said.join('\n')).not.toContain(text);
    }
  });

  it('say what is wrong with an address, and not the password in it #store-nats', async () => {
    await using home = await GatewayHome.create({ store: 'nats://ann:hidden-word@host/No' });
    const bad = await home.run(['status']);
    expect([bad.code, bad.stdout + bad.stderr]).toEqual([
      2,
      expect.stringContaining('store is not an address that can be used'),
    ]);
    expect(bad.stdout + bad.stderr).not.toContain('hidden-word');
    await home.configure({ store: `nats://ann:\${env:NOT_SET_ANYWHERE}@host` });
    const missing = await home.run(['status']);
    expect(missing.stdout + missing.stderr).toContain('NOT_SET_ANYWHERE, which is not set');
  });

  it('leave commands with an answer when the server is away #store-nats', async () => {
    await using server = await startPlainNats();
    await server.kill();
    const store = `${server.url}/${newNamespace()}`;
    await using home = await GatewayHome.create({ store, roles: { reader: { allow: [] } } });
    const added = await home.run(['token', 'add', '--role', 'reader']);
    expect(added.code).not.toBe(0);
    expect(added.stderr).toContain('cannot be reached');
    const status = await home.run(['status']);
    expect([status.code, status.stdout]).toEqual([
      0,
      expect.stringContaining('tokens with roles cannot be read now'),
    ]);
    expect((await home.run(['doctor'])).stdout).toContain('cannot be reached');
  });
});
