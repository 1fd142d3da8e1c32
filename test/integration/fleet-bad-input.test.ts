// What `holdfast proxy` and `holdfast serve --broker` are given that they cannot use: one clear line each time. What can
// be seen without asking anybody ends the command; what only the broker knows is reported once and tried again rarely,
// and a worker's client is told it instead of an empty list. When it is mended, everything works.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { natsCredentialText } from '../../src/broker/nats-credential.ts';
import { BrokerProcess } from '../support/broker-process.ts';
import { members } from '../support/broker-suite/subject.ts';
import { mainProgram } from '../support/build.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { StdioClient } from '../support/gateway-stdio-client.ts';
import { NatsServer, passwordOf } from '../support/nats-server.ts';
import { until } from '../support/until.ts';

let home: GatewayHome;
let broker: BrokerProcess;
let nats: NatsServer;

beforeAll(async () => {
  home = await GatewayHome.create({
    mcpServers: { own: faultyStdio() },
    roles: { reader: { allow: ['own/*'] } },
  });
  broker = await BrokerProcess.start();
  nats = await NatsServer.start();
});

afterAll(async () => {
  await broker[Symbol.asyncDispose]();
  await nats[Symbol.asyncDispose]();
  await home[Symbol.asyncDispose]();
});

let files = 0;
function tokenFile(secret: string): { readonly HOLDFAST_TOKEN_FILE: string } {
  files += 1;
  const file = home.file(`credential-${files}`);
  writeFileSync(file, secret, { mode: 0o600 });
  return { HOLDFAST_TOKEN_FILE: file };
}

function natsCredential(member: 'ann' | 'boss', secret: string = passwordOf(member)): string {
  return natsCredentialText({ ...members[member], secret });
}

function proxyTo(url: string, secret: string, to = 'boss'): StdioClient {
  const args = [mainProgram, 'proxy', '--broker', url, '--to', to];
  const env = { ...home.env, ...tokenFile(secret) };
  const client = new StdioClient(spawn(process.execPath, args, { env }));
  onTestFinished(() => client[Symbol.asyncDispose]());
  return client;
}

describe('what can be seen without asking anybody ends the command with one line', () => {
  const worker = 'hfw_worker';
  const orchestrator = 'hfo_orchestrator';
  it.each<[string, string, string, string, string]>([
    ['a web address', 'http://127.0.0.1:1', worker, orchestrator, 'the address of a broker is ws:'],
    ['no scheme', '127.0.0.1:4200', worker, orchestrator, 'the address of a broker is ws:'],
    ['no host', 'ws://', worker, orchestrator, 'the address of a broker is ws:'],
    ['a path', 'ws://127.0.0.1:1/../x', worker, orchestrator, 'the address of a broker is ws:'],
    ['a fragment', 'ws://127.0.0.1:1/#x', worker, orchestrator, 'the address of a broker is ws:'],
    ['no such port', 'nats://127.0.0.1:99999', worker, orchestrator, 'the address of a broker is'],
    ['a password', 'ws://u:pw@127.0.0.1:1', worker, orchestrator, 'has no user and no password'],
    ['a NATS server', 'nats://127.0.0.1:1', worker, orchestrator, 'not one for a NATS server'],
    [
      'an embedded broker, with credentials for NATS',
      'ws://127.0.0.1:1',
      natsCredential('ann'),
      natsCredential('boss'),
      'is one for a NATS server',
    ],
    ['damaged ones', 'nats://127.0.0.1:1', 'hfn_x', 'hfn_e30', 'or is damaged'],
    ["each other's", 'ws://127.0.0.1:1', orchestrator, worker, 'this is the credential of a'],
    [
      "each other's of NATS",
      'nats://127.0.0.1:1',
      natsCredential('boss'),
      natsCredential('ann'),
      'this is the credential of a',
    ],
  ])('%s #command-line', async (_what, url, ofWorker, ofOrchestrator, words) => {
    const proxy = await home.run(['proxy', '--broker', url, '--to', 'boss'], tokenFile(ofWorker));
    const serve = await home.run(
      ['serve', '--listen', '127.0.0.1:0', '--broker', url, '--as', 'boss'],
      tokenFile(ofOrchestrator),
    );
    for (const { code, stdout, stderr } of [proxy, serve]) {
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toContain(words);
      expect(stderr.trim().split('\n')).toHaveLength(1);
      expect(stderr).not.toContain('pw@');
    }
  });

  it('a store that forgets which calls have run #command-line #broker-once', async () => {
    const servers = { mcpServers: { own: faultyStdio() }, store: 'memory' };
    for (const broker of [undefined, { url: 'ws://127.0.0.1:1', as: 'boss' }]) {
      await using other = await GatewayHome.create({ ...servers, ...(broker && { broker }) });
      const words = broker === undefined ? ['--broker', 'ws://127.0.0.1:1', '--as', 'boss'] : [];
      const serve = ['serve', '--listen', '127.0.0.1:0', ...words];
      const { code, stderr } = await other.run(serve, tokenFile(orchestrator));
      expect([code, stderr.trim().split('\n')]).toEqual([
        2,
        [expect.stringContaining('a broker needs a "store" that is kept')],
      ]);
    }
  });

  it('the credential that the config has for another broker; for the same it is found from everywhere #broker-identity', async () => {
    const broker = { url: 'ws://127.0.0.1:1', as: 'boss', tokenFile: './boss.secret' };
    await using other = await GatewayHome.create({ mcpServers: { own: faultyStdio() }, broker });
    writeFileSync(other.file('boss.secret'), orchestrator, { mode: 0o600 });
    const at = (url: string) => ['--listen', '127.0.0.1:0', '--broker', url, '--as', 'boss'];
    const { code, stderr } = await other.run(['serve', ...at('ws://127.0.0.1:2')]);
    expect(code).not.toBe(0);
    expect(stderr).toContain('there is no credential for the broker');
    // Its working directory is not the folder of the config.
    const started = other.start([...at('ws://127.0.0.1:1/'), '--json']);
    await started.printed('\n');
    await started.stop();
  });

  it.each(['../boss', 'Boss', 'a/b', '', 'x'.repeat(65), 'a b'])(
    'a mailbox %j #command-line',
    async (name) => {
      const url = 'ws://127.0.0.1:1';
      const proxy = await home.run(['proxy', '--broker', url, '--to', name], tokenFile(worker));
      const serve = await home.run(
        ['serve', '--broker', url, '--as', name],
        tokenFile(orchestrator),
      );
      for (const { code, stderr } of [proxy, serve]) {
        expect([code, stderr]).toEqual([2, expect.stringContaining('is no name of a mailbox')]);
      }
    },
  );
});

/** A server that says this, and hears everything. */
async function serverThatSays(text: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {}).resume();
    socket.write(text);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Trouble {
  readonly url: string;
  readonly worker: string;
  readonly orchestrator: string;
  readonly words: string;
}

const troubles: readonly (readonly [string, () => Promise<Trouble>])[] = [
  [
    'a wrong token at the embedded broker',
    async () => ({
      url: broker.url,
      worker: 'hfw_wrong',
      orchestrator: 'hfo_wrong',
      words: 'does not accept this credential: it is wrong, revoked or expired',
    }),
  ],
  [
    'an expired one',
    async () => {
      const expiresAt = 1;
      return {
        url: broker.url,
        worker: await broker.admit('late', { ...members.ann, mailbox: 'late.mcp', expiresAt }),
        orchestrator: await broker.admit('lost', { ...members.boss, mailbox: 'lost', expiresAt }),
        words: 'does not accept this credential: it is wrong, revoked or expired',
      };
    },
  ],
  [
    'a wrong password at a NATS server',
    async () => ({
      url: nats.url,
      worker: natsCredential('ann', 'wrong'),
      orchestrator: natsCredential('boss', 'wrong'),
      words: 'does not accept this credential: it is wrong, revoked or expired',
    }),
  ],
  [
    'something else at the address',
    async () => ({
      url: `ws://${await serverThatSays('220 mail.example ESMTP\r\n')}`,
      worker: 'hfw_x',
      orchestrator: 'hfo_x',
      words: 'is no Holdfast broker',
    }),
  ],
  [
    'a NATS server where the embedded broker should be',
    async () => ({
      url: nats.url.replace('nats:', 'ws:'),
      worker: 'hfw_x',
      orchestrator: 'hfo_x',
      words: 'is no Holdfast broker',
    }),
  ],
  [
    'the embedded broker where NATS should be',
    async () => ({
      url: broker.url.replace('ws:', 'nats:'),
      worker: natsCredential('ann'),
      orchestrator: natsCredential('boss'),
      words: 'is no NATS server',
    }),
  ],
  [
    'a NATS server without JetStream',
    async () => {
      const user = (name: 'ann' | 'boss') =>
        `{ user: "${members[name].mailbox}", password: ${JSON.stringify(passwordOf(name))} }`;
      const server = await NatsServer.start(
        [],
        () => `authorization { users: [ ${user('ann')}, ${user('boss')} ] }`,
      );
      onTestFinished(() => server[Symbol.asyncDispose]());
      return {
        url: server.url,
        worker: natsCredential('ann'),
        orchestrator: natsCredential('boss'),
        words: 'JetStream is not enabled',
      };
    },
  ],
];

describe.each(troubles)('%s', (_what, trouble) => {
  it("is told to a worker's client instead of an empty list, and in one line #fleet #command-line", async () => {
    const { url, worker, words } = await trouble();
    const proxy = proxyTo(url, worker);
    await proxy.initialize();
    for (const id of [1, 2, 3]) {
      const { error } = await proxy.ask('tools/list', {}, id);
      expect(error?.message).toContain(words);
    }
    const { stderr } = await proxy.end();
    const lines = stderr.trim().split('\n');
    expect(lines).toEqual([expect.stringContaining(words)]);
  });

  it('is reported once by an orchestrator, which serves its other clients #fleet #command-line', async () => {
    const { url, orchestrator, words } = await trouble();
    const args = ['--listen', '127.0.0.1:0', '--json', '--broker', url, '--as', 'boss'];
    const gateway = home.start(args, tokenFile(orchestrator));
    onTestFinished(async () => void (await gateway.stop()));
    await gateway.printed('\n');
    await until(() => gateway.stderr.includes(words), 'it is reported');
    const lines = gateway.stderr.trim().split('\n');
    expect(lines).toEqual([expect.stringContaining(words)]);
  });
});

it('a broker that was away for many calls is used as soon as it is there #fleet', async () => {
  await using own = await BrokerProcess.start();
  const { url } = own;
  await own.kill('SIGKILL');
  const proxy = proxyTo(url, own.secretOf('ann'));
  await proxy.initialize();
  // Those that ask together share one deadline.
  for (const ids of [
    [1, 2, 3, 4],
    [5, 6, 7, 8],
  ]) {
    const answers = await Promise.all(ids.map((id) => proxy.ask('tools/list', {}, id)));
    for (const { error } of answers) expect(error).toBeDefined();
  }
  await own.launch();
  const args = ['--listen', '127.0.0.1:0', '--json', '--broker', url, '--as', 'boss'];
  const gateway = home.start(args, tokenFile(own.secretOf('boss')));
  onTestFinished(async () => void (await gateway.stop()));
  await gateway.printed('\n');
  let id = 100;
  await until(async () => {
    id += 1;
    const params = { name: 'own__echo', arguments: { text: 'hello' } };
    const { result } = await proxy.ask('tools/call', params, id);
    return result?.content?.[0]?.text === 'hello';
  }, 'it works');
}, 120_000);
