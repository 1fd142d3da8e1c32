// A worker that is cut off, with real processes: its broker is away, or its orchestrator. For a short time it is shown
// what was listed before, and its calls wait; then its client gets the error for its lists, too, until they are back.

import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { connectWorker } from '../../src/fleet/worker/connect-worker.ts';
import { BrokerProcess } from '../support/broker-process.ts';
import { faultyStdio } from '../support/faulty.ts';
import { Fleet, type FleetBroker, type Worker } from '../support/fleet.ts';
import { executions } from '../support/ledger.ts';
import { newFolder } from '../support/sqlite-place.ts';
import { until } from '../support/until.ts';

function config(ledger = `${newFolder()}/ledger`) {
  return { mcpServers: { own: faultyStdio({ ledger }) }, roles: { reader: { allow: ['own/*'] } } };
}

async function commanded(): Promise<{ broker: BrokerProcess; on: FleetBroker }> {
  const broker = await BrokerProcess.start();
  const credential = (member: string) => broker.secretOf(member);
  return { broker, on: Object.assign(broker, { credential }) };
}

/** Ends connections to this address, until there were so many. */
async function refusing(url: string, tries: number): Promise<void> {
  let seen = 0;
  const server = createServer((socket) => {
    seen += 1;
    socket.on('error', () => {}).destroy();
  });
  const { hostname, port } = new URL(url);
  await new Promise<void>((resolve) => server.listen(Number(port), hostname, resolve));
  await until(() => seen >= tries, `${tries} tries`);
  await new Promise((resolve) => server.close(resolve));
}

/** The number of its tools, or what its client is told instead. */
async function listed({ client }: Worker): Promise<number | string> {
  return await client.listTools().then(
    ({ tools }) => tools.length,
    (error: Error & { data?: unknown }) => `${error.message} ${JSON.stringify(error.data)}`,
  );
}

const isTold = (text: string) => (found: number | string) =>
  typeof found === 'string' && found.includes(text);

describe('a worker whose broker is away', () => {
  it('has its running call answered when it is back, and a new one, too; none runs twice #broker-once', async () => {
    const { broker, on } = await commanded();
    const ledger = `${newFolder()}/ledger`;
    await using fleet = await Fleet.start(on, config(ledger));
    const worker = await fleet.worker();
    await worker.call('own__echo', { text: 'started' });
    const running = worker.call('own__slow', { ms: 1_000, nonce: 'long' });
    await until(() => executions(ledger, 'long') === 1, 'it runs');
    await broker.kill('SIGKILL');
    const next = worker.call('own__echo', { text: 'next', nonce: 'next' });
    // Those of the orchestrator are among them.
    await refusing(broker.url, 8);
    await broker.launch();
    expect(JSON.stringify(await running)).not.toContain('holdfast/fault');
    expect(await next).toMatchObject({ content: [{ type: 'text', text: 'next' }] });
    expect(executions(ledger, 'long')).toBe(1);
  }, 60_000);

  it('is told so for its lists after ten seconds, and sees them as soon as it is back #fleet', async () => {
    const { broker, on } = await commanded();
    await using fleet = await Fleet.start(on, config());
    const worker = await fleet.worker();
    const { url } = on;
    await using program = await connectWorker({
      ...{ broker: url, to: 'boss', credential: broker.secretOf('ann') },
      report: () => {},
    });
    const count = await listed(worker);
    expect((await program.tools('boss')).length).toBe(count);
    await broker.kill('SIGKILL');
    expect(await listed(worker)).toBe(count);
    const told = `boss cannot be reached: ${url} cannot be reached (ECONNREFUSED`;
    await until(async () => isTold(told)(await listed(worker)), 'it is told', 40_000);
    await expect(program.tools('boss')).rejects.toThrow(told);
    // One that begins now has no list yet: its calls wait, too, and are answered when all are back. How soon the
    // orchestrator is depends on how long the broker was away.
    const fresh = await fleet.worker();
    const answered = async () => JSON.stringify(await fresh.call('own__echo', { text: 'fresh' }));
    const first = answered();
    await broker.launch();
    await first;
    await until(
      async () => (await answered()).includes('"text":"fresh"'),
      'it is answered',
      60_000,
    );
    await until(async () => (await listed(worker)) === count, 'it is back');
  }, 180_000);
});

describe.each(['command', 'nats'] as const)(
  'a worker at the broker %s whose orchestrator is away',
  (name) => {
    it('is told so for its lists and calls, without commands that it cannot use #fleet', async () => {
      await using fleet = await Fleet.start(name, config());
      const worker = await fleet.worker();
      const count = await listed(worker);
      fleet.orchestrator.kill('SIGKILL');
      await fleet.orchestrator.ended;
      expect(await listed(worker)).toBe(count);
      const told = 'boss cannot be reached: boss is not connected to the broker';
      await until(async () => isTold(told)(await listed(worker)), 'it is told', 60_000);
      const fresh = await fleet.worker();
      expect(await listed(fresh)).toContain(told);
      const answer = JSON.stringify(await fresh.call('own__echo', { text: 'x' }));
      expect(answer).toContain(told);
      expect(answer).not.toMatch(/holdfast (status|tools)/);
      await fleet.restartOrchestrator();
      await until(async () => (await listed(worker)) === count, 'it is back', 60_000);
      expect(await listed(fresh)).toBe(count);
    }, 180_000);
  },
);
