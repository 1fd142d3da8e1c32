// What `status` and `doctor` say about the link of an instance to its broker, on both brokers: whether it is there, since
// when, why not, and how many workers are served.

import { writeFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { faultyStdio } from '../support/faulty.ts';
import { Fleet, fleetBrokers } from '../support/fleet.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import type { Json } from '../support/gateway-stdio-client.ts';
import { NatsServer } from '../support/nats-server.ts';
import { until } from '../support/until.ts';

async function statusOf(home: GatewayHome): Promise<{ broker: Json; text: string }> {
  const { stdout } = await home.run(['status', '--json']);
  const { stdout: text } = await home.run(['status']);
  return { broker: JSON.parse(stdout).broker, text };
}

async function doctorOf(home: GatewayHome, env = {}): Promise<Json> {
  const { stdout } = await home.run(['doctor', '--no-start', '--json'], env);
  return JSON.parse(stdout).checks.find(({ subject }: Json) => subject === 'broker');
}

const servers = { mcpServers: { own: faultyStdio() }, roles: { reader: { allow: ['own/*'] } } };

describe.each(['command', 'nats'] as const)('an instance at the broker %s', (name) => {
  it('says that it is connected, how many workers it serves, and what was wrong before #status #fleet', async () => {
    await using fleet = await Fleet.start(name, servers);
    const { home } = fleet;
    const { url } = fleet.broker;
    await until(async () => (await statusOf(home)).broker.state === 'connected', 'it is connected');
    const alone = await statusOf(home);
    expect(alone.broker).toMatchObject({ url, as: 'boss', lastError: null, links: 1, workers: 0 });
    expect(Date.now() - alone.broker.since).toBeGreaterThanOrEqual(0);
    expect(alone.text).toContain(`Connected to the broker ${url} as boss for`);
    expect(alone.text).toContain('0 workers are served');
    const worker = await fleet.worker();
    await worker.client.listTools();
    await until(async () => (await statusOf(home)).broker.workers === 1, 'it is served');
    expect((await statusOf(home)).text).toContain('1 worker is served');
    expect(await doctorOf(home)).toMatchObject({ kind: 'ok' });
    await fleet.broker.restart();
    await until(async () => (await statusOf(home)).broker.links === 2, 'it is connected again');
    const again = await statusOf(home);
    expect(again.broker).toMatchObject({
      state: 'connected',
      lastError: { text: expect.any(String) },
    });
    expect(again.broker.since).toBeGreaterThanOrEqual(again.broker.lastError.at);
    expect(again.text).toContain('the link before ended');
    await worker.client.listTools();
    await until(async () => (await statusOf(home)).broker.workers === 1, 'it is served again');
    await worker[Symbol.asyncDispose]();
    await until(async () => (await statusOf(home)).broker.workers === 0, 'it has left');
  }, 120_000);

  it('says why there is none, and doctor names it #status #fleet', async () => {
    const broker = await fleetBrokers[name]();
    const { url } = broker;
    const home = await GatewayHome.create({ ...servers, broker: { url, as: 'boss' } });
    onTestFinished(() => home[Symbol.asyncDispose]());
    const file = home.file('credential');
    writeFileSync(file, broker.credential('boss'), { mode: 0o600 });
    const env = { HOLDFAST_TOKEN_FILE: file };
    // Without an instance it looks itself.
    expect(await doctorOf(home, env)).toMatchObject({
      kind: 'ok',
      text: expect.stringContaining('can be reached, as boss'),
    });
    expect(await doctorOf(home)).toMatchObject({
      kind: 'finding',
      text: expect.stringContaining('there is no credential for the broker'),
    });
    await broker[Symbol.asyncDispose]();
    expect(await doctorOf(home, env)).toMatchObject({
      kind: 'finding',
      text: expect.stringContaining(`${url} cannot be reached`),
      remedy: expect.stringContaining('start the broker'),
    });
    const gateway = home.start(['--listen', '127.0.0.1:0', '--json'], env);
    onTestFinished(async () => void (await gateway.stop()));
    await gateway.printed('\n');
    await until(async () => (await statusOf(home)).broker.state === 'lost', 'it is known');
    const { broker: state, text } = await statusOf(home);
    expect(state.lastError.text).toContain('cannot be reached (ECONNREFUSED');
    expect(text.replaceAll(/\s+/g, ' ')).toContain(`No link to the broker ${url} for`);
    expect(await doctorOf(home)).toMatchObject({
      kind: 'finding',
      text: expect.stringContaining('No link to the broker'),
    });
  }, 60_000);
});

it('an instance that a broker refuses says that somebody has to mend it #status #fleet', async () => {
  await using server = await NatsServer.start([], () => 'authorization { user: a, password: b }');
  const broker = await fleetBrokers.nats();
  onTestFinished(() => broker[Symbol.asyncDispose]());
  const home = await GatewayHome.create({ ...servers, broker: { url: server.url, as: 'boss' } });
  onTestFinished(() => home[Symbol.asyncDispose]());
  const file = home.file('credential');
  writeFileSync(file, broker.credential('boss'), { mode: 0o600 });
  const gateway = home.start(['--listen', '127.0.0.1:0', '--json'], { HOLDFAST_TOKEN_FILE: file });
  onTestFinished(async () => void (await gateway.stop()));
  await gateway.printed('\n');
  await until(async () => (await statusOf(home)).broker.state === 'refused', 'it is refused');
  const { text } = await statusOf(home);
  expect(text.replaceAll(/\s+/g, ' ')).toMatch(/refuses this gateway .* tried every half minute/);
});

it('an instance without a broker says nothing about one #status', async () => {
  const home = await GatewayHome.create(servers);
  onTestFinished(() => home[Symbol.asyncDispose]());
  await using _gateway = await home.serve();
  const { broker, text } = await statusOf(home);
  expect([broker, text.includes('roker')]).toEqual([null, false]);
});
