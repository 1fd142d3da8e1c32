// `holdfast broker nats-config`: the printed config is one with which a real nats-server serves a fleet, and the
// credential files are those of its members.

import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { connectWorker } from '../../src/fleet/worker/connect-worker.ts';
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
  expect(expiring.code).toBe(2);
});
