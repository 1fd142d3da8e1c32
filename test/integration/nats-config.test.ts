// `holdfast broker nats-config`: the printed config is one with which a real nats-server serves a fleet, and the
// credential files are those of its members.

import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { newCredential } from '../../src/broker/credentials/credential-record.ts';
import { linkOpener } from '../../src/broker/open-link.ts';
import { connectWorker } from '../../src/fleet/worker/connect-worker.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { openFilesStore } from '../../src/store/file-store.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { NatsServer } from '../support/nats-server.ts';

it('prints the config of a NATS server that serves the members, with files for them #broker-identity #command-line', async () => {
  await using home = await GatewayHome.create({
    mcpServers: { own: faultyStdio() },
    roles: { reader: { allow: ['own/echo'] } },
  });
  const dir = home.file('broker');
  const out = home.file('files');
  await home.run(['token', 'add', '--orchestrator', 'boss', '--dir', dir]);
  const ann = ['token', 'add', '--worker', 'ann', '--role', 'reader', '--to', 'boss'];
  await home.run([...ann, '--dir', dir]);
  const printed = () => home.run(['broker', 'nats-config', '--dir', dir, '--out', out]);
  const { code, stdout } = await printed();
  expect(code).toBe(0);
  expect(stdout).toContain('listen: "127.0.0.1:4222"');
  // The next time the same members have the same keys.
  expect((await printed()).stdout).toBe(stdout);
  const fileOf = (mailbox: string) => join(out, `${mailbox}.credential`);
  expect(statSync(fileOf('ann.mcp')).mode & 0o777).toBe(0o600);
  expect(stdout).not.toContain(readFileSync(fileOf('ann.mcp'), 'utf8').trim());
  await using server = await NatsServer.start([], () => stdout);
  const words = ['--listen', '127.0.0.1:0', '--json', '--broker', server.url, '--as', 'boss'];
  const boss = home.start(words, { HOLDFAST_TOKEN_FILE: fileOf('boss') });
  await boss.printed('\n');
  const credential = readFileSync(fileOf('ann.mcp'), 'utf8').trim();
  const worker = await connectWorker({ broker: server.url, to: 'boss', credential });
  try {
    const tools = await worker.tools('boss');
    expect(tools.map((tool) => tool.name)).toEqual(['own__echo']);
  } finally {
    await worker.close();
    await boss.stop();
  }
});

it('says what to do where there are no members, and refuses members who expire #command-line', async () => {
  await using home = await GatewayHome.create();
  const none = await home.run(['broker', 'nats-config', '--dir', home.file('none')]);
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('there are no members')]);
  const dir = home.file('broker');
  await home.run(['token', 'add', '--orchestrator', 'boss', '--expires', '1d', '--dir', dir]);
  const expiring = await home.run(['broker', 'nats-config', '--dir', dir]);
  expect(expiring.stderr).toContain('the credential of boss expires');
  expect(expiring.stderr).toMatch(/holdfast token revoke .*boss --dir .*, and holdfast token add /);
  expect(expiring.stderr).toContain(`--orchestrator boss --dir ${dir}`);
  expect(expiring.code).toBe(2);
});

it('leaves out members whose time is over, and says how they are removed #command-line', async () => {
  await using home = await GatewayHome.create();
  const dir = home.file('broker');
  await home.run(['token', 'add', '--orchestrator', 'boss', '--dir', dir]);
  const about = { mailbox: 'late', kind: 'orchestrator', role: null, to: [] } as const;
  const { record } = newCredential({ ...about, createdAt: 0, expiresAt: 1 });
  await using store = openFilesStore(dir, { clock: systemClock, report: () => {} });
  await store.records('credentials', { durability: 'durable' }).put(record.mailbox, record);
  const { code, stdout, stderr } = await home.run(['broker', 'nats-config', '--dir', dir]);
  expect([code, stdout.includes('late'), stdout.includes('boss')]).toEqual([0, false, true]);
  expect(stderr).toContain('the credential of late has expired and is left out');
  expect(stderr).toMatch(/holdfast token revoke .*late/);
});

async function fleetOf(home: GatewayHome) {
  const dir = ['--dir', home.file('broker')];
  const out = home.file('files');
  const run = async (...words: string[]) => {
    const ended = await home.run([...words, ...dir]);
    if (ended.code === 0) return ended;
    throw new Error(`exit code ${ended.code}: ${ended.stderr}`);
  };
  await run('token', 'add', '--orchestrator', 'boss');
  const addAnn = (role: string) =>
    run('token', 'add', '--worker', 'ann', '--role', role, '--to', 'boss');
  const print = (...more: string[]) => run('broker', 'nats-config', '--out', out, ...more);
  return { run, addAnn, print, fileOf: (mailbox: string) => join(out, `${mailbox}.credential`) };
}

async function toolsOf(broker: string, credential: string): Promise<readonly string[]> {
  const worker = await connectWorker({ broker, to: 'boss', credential });
  try {
    return (await worker.tools('boss')).map((tool) => tool.name);
  } finally {
    await worker.close();
  }
}

it('has a key for one credential: who is added again after a revoke has another one, with its own role #broker-identity', async () => {
  await using home = await GatewayHome.create({
    mcpServers: { own: faultyStdio() },
    roles: { reader: { allow: ['own/echo'] }, writer: { allow: ['own/add'] } },
  });
  const { run, addAnn, print, fileOf } = await fleetOf(home);
  await addAnn('reader');
  await print();
  const file = fileOf('ann.mcp');
  const revoked = readFileSync(file, 'utf8').trim();
  const of = readFileSync(fileOf('boss'), 'utf8');
  await run('token', 'revoke', 'ann');
  const without = await print();
  expect(without.stderr).toContain(`${file} was removed: its credential is revoked`);
  expect(existsSync(file)).toBe(false);
  await addAnn('writer');
  expect((await print()).stderr).toContain('after its second reload');
  // In one go, the file before is replaced.
  const inBetween = readFileSync(file, 'utf8').trim();
  await run('token', 'revoke', 'ann');
  await addAnn('writer');
  const { stdout, stderr } = await print();
  expect(stderr).toContain(`${file} has a new key: the one before is revoked`);
  expect(readFileSync(fileOf('boss'), 'utf8')).toBe(of);
  await using server = await NatsServer.start([], () => stdout);
  const words = ['--listen', '127.0.0.1:0', '--json', '--broker', server.url, '--as', 'boss'];
  const boss = home.start(words, { HOLDFAST_TOKEN_FILE: fileOf('boss') });
  await boss.printed('\n');
  try {
    for (const old of [revoked, inBetween]) {
      await expect(toolsOf(server.url, old)).rejects.toThrow('does not accept this credential');
    }
    const current = readFileSync(file, 'utf8').trim();
    expect(await toolsOf(server.url, current)).toEqual(['own__add']);
  } finally {
    await boss.stop();
  }
});

it('changes no file for a config that it does not print #command-line', async () => {
  await using home = await GatewayHome.create({
    mcpServers: { own: faultyStdio() },
    roles: { reader: { allow: ['own/echo'] } },
  });
  const { run, addAnn, print, fileOf } = await fleetOf(home);
  await addAnn('reader');
  await print();
  const before = readFileSync(fileOf('ann.mcp'), 'utf8');
  await run('token', 'revoke', 'ann');
  await addAnn('reader');
  const bob = ['--worker', 'bob', '--role', 'reader', '--to', 'boss'];
  await run('token', 'add', ...bob, '--expires', '1d');
  await expect(print()).rejects.toThrow('expires');
  expect(readFileSync(fileOf('ann.mcp'), 'utf8')).toBe(before);
  expect(existsSync(fileOf('bob.mcp'))).toBe(false);
});

it('leaves files alone that are none of its own, and uses no seed that others can read #broker-identity', async () => {
  await using home = await GatewayHome.create();
  const { print, fileOf } = await fleetOf(home);
  await print();
  const mine = fileOf('mine');
  writeFileSync(mine, 'something else\n');
  await print();
  expect(readFileSync(mine, 'utf8')).toBe('something else\n');
  chmodSync(fileOf('boss'), 0o644);
  await expect(print()).rejects.toThrow('can be read by others');
});

it('prints no config that a NATS server could not use, and says what is sent in clear #command-line', async () => {
  await using home = await GatewayHome.create();
  const { print, fileOf } = await fleetOf(home);
  for (const listen of ['foo', '127.0.0.1:99999', '127.0.0.1:0']) {
    await expect(print('--listen', listen)).rejects.toThrow(`cannot listen on`);
  }
  await expect(print('--tls-cert', 'cert.pem')).rejects.toThrow('--tls-cert needs');
  expect((await print('--listen', '0.0.0.0:4222')).stderr).toContain('without TLS');
  const [cert, key] = [home.file('cert.pem'), home.file('key.pem')];
  // biome-ignore format: the words of one command
  execFileSync('openssl', [
    'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost',
    '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert,
  ], { stdio: 'ignore' });
  const tls = await print('--listen', '0.0.0.0:4222', '--tls-cert', 'cert.pem', '--tls-key', key);
  expect(tls.stderr).not.toContain('without TLS');
  expect(tls.stdout).toContain(`cert_file: "${cert}"`);
  // The server takes it, and speaks TLS.
  await using server = await NatsServer.start([], () => tls.stdout);
  const open = linkOpener({
    url: server.url.replace(/^\w+:/, 'tls:'),
    credential: readFileSync(fileOf('boss'), 'utf8').trim(),
    holder: 'orchestrator',
    ca: readFileSync(cert, 'utf8'),
    ...{ seat: 's', kinds: [], clock: systemClock, report: () => {}, caught: () => {} },
  });
  const link = await open(new AbortController().signal);
  expect(link.self.mailbox).toBe('boss');
  await link.close();
});
