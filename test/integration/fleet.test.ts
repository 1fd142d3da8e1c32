// A fleet of real processes on both brokers: what a worker sees, and what of its calls survives.

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  ElicitRequestSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { connectWorker } from '../../src/fleet/worker/connect-worker.ts';
import { faultyStdio } from '../support/faulty.ts';
import { Fleet, type FleetBrokerName } from '../support/fleet.ts';
import { executions, readLedger } from '../support/ledger.ts';
import { newFolder } from '../support/sqlite-place.ts';
import { until } from '../support/until.ts';

function config(ledger: string, state: string) {
  const server = { ...faultyStdio({ ledger, state }), limits: { frameBytes: 33_554_432 } };
  return {
    mcpServers: { own: server, hidden: faultyStdio() },
    roles: { reader: { allow: ['own/*'], deny: ['own/fail'] } },
  };
}

async function fleetOn(name: FleetBrokerName): Promise<{ fleet: Fleet; ledger: string }> {
  const folder = newFolder();
  const ledger = `${folder}/ledger`;
  return { fleet: await Fleet.start(name, config(ledger, `${folder}/state`)), ledger };
}

it('the example of a fleet shows who may do what #fleet', async () => {
  const example = fileURLToPath(new URL('../../examples/fleet/run.mjs', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [example]);
  expect(stdout).toContain('ann may use weather__forecast, weather__station\n');
  expect(stdout).toMatch(/ann.*bank__deposit: not_found.*bob.*bank__deposit: deposited 10/s);
});

describe.each(['embedded', 'nats'] as const)('workers behind the %s broker', (name) => {
  it('see what their role allows, and nothing else exists for them #broker-identity #fleet', async () => {
    const { fleet } = await fleetOn(name);
    await using _fleet = fleet;
    const worker = await fleet.worker();
    const { tools } = await worker.client.listTools();
    expect(tools.map((tool) => tool.name)).toContain('own__echo');
    expect(tools.filter((tool) => tool.name.startsWith('hidden'))).toEqual([]);
    const answer = await worker.call('own__echo', { text: 'hello' });
    expect(answer['content']).toEqual([{ type: 'text', text: 'hello' }]);
    for (const tool of ['hidden__echo', 'own__fail', 'own__nothing']) {
      await expect(worker.call(tool)).rejects.toThrow(`Unknown tool: ${tool}`);
    }
    // bob's credential names no role: it is nobody.
    await expect(fleet.worker('bob').then((bob) => bob.client.listTools())).rejects.toThrow(
      'names no role',
    );
  });

  it('run their calls at the same time: four have begun before one is done #fleet', async () => {
    const { fleet, ledger } = await fleetOn(name);
    await using _fleet = fleet;
    const worker = await fleet.worker();
    await worker.call('own__echo', { text: 'started' });
    await Promise.all(
      [1, 2, 3, 4].map((nonce) => worker.call('own__slow', { ms: 200, nonce: `n${nonce}` })),
    );
    const phases = readLedger(ledger).filter(({ tool }) => tool === 'slow');
    const firstDone = phases.findIndex(({ phase }) => phase === 'done');
    expect(phases.slice(0, firstDone).filter(({ phase }) => phase === 'begin')).toHaveLength(4);
  });

  it('get their answer when the broker is killed after the execution: it ran once #broker-once', async () => {
    const { fleet, ledger } = await fleetOn(name);
    await using _fleet = fleet;
    const worker = await fleet.worker();
    await worker.call('own__echo', { text: 'started' });
    const running = worker.call('own__add', {
      nonce: 'once',
      key: 'k',
      amount: 1,
      fault: { kind: 'late', ms: 500 },
    });
    await until(() => executions(ledger, 'once') === 1, 'it runs');
    await fleet.broker.restart();
    await running;
    expect(executions(ledger, 'once')).toBe(1);
  });

  it('are told that the outcome is unknown when the orchestrator is killed: it is not repeated #broker-once', async () => {
    const { fleet, ledger } = await fleetOn(name);
    await using _fleet = fleet;
    const worker = await fleet.worker();
    await worker.call('own__echo', { text: 'started' });
    const running = worker.call('own__add', {
      nonce: 'once',
      key: 'k',
      amount: 1,
      fault: { kind: 'hang', effect: true },
    });
    await until(() => executions(ledger, 'once') === 1, 'it runs');
    await fleet.restartOrchestrator();
    const answer = await running;
    expect(JSON.stringify(answer)).toContain('outcome_unknown');
    expect(executions(ledger, 'once')).toBe(1);
    const next = await worker.call('own__echo', { text: 'next' });
    expect(next['content']).toEqual([{ type: 'text', text: 'next' }]);
  });

  it('repeat the call of a process that was killed by its key: it ran once, and each gets the answer #broker-once #idempotency-key', async () => {
    const { fleet, ledger } = await fleetOn(name);
    await using _fleet = fleet;
    const args = { nonce: 'once', key: 'k', amount: 1, fault: { kind: 'late', ms: 3_000 } };
    const meta = { 'holdfast/idempotencyKey': 'order 7' };
    const killed = await fleet.worker();
    // So that its requests have other numbers than those of the next process.
    await killed.call('own__echo', { text: 'started' });
    killed.call('own__add', args, meta).catch(() => {});
    await until(() => executions(ledger, 'once') === 1, 'it runs');
    process.kill(killed.pid, 'SIGKILL');
    const second = await fleet.worker();
    const answer = await second.call('own__add', args, meta);
    expect(answer).not.toMatchObject({ isError: true });
    // The answers for the others are known to the broker by now, and wait there.
    const third = await fleet.worker();
    expect((await third.call('own__add', args, meta))['content']).toEqual(answer['content']);
    expect(executions(ledger, 'once')).toBe(1);
  });

  it('cancel a call where it runs #fleet', async () => {
    const { fleet, ledger } = await fleetOn(name);
    await using _fleet = fleet;
    const worker = await fleet.worker();
    await worker.call('own__echo', { text: 'started' });
    const cancel = new AbortController();
    const call = { name: 'own__slow', arguments: { ms: 600_000, nonce: 'long' } };
    const running = worker.client.callTool(call, undefined, { signal: cancel.signal });
    await until(() => executions(ledger, 'long') === 1, 'it runs');
    cancel.abort();
    await expect(running).rejects.toThrow();
    await until(async () => {
      const said = { last: 9, method: 'notifications/cancelled' };
      const answer = await worker.call('own__received', said);
      return answer['structuredContent'].messages.length > 0;
    }, 'it was cancelled there');
  });

  it('get a result of 20 MB byte for byte, and progress before it #fleet', async () => {
    const { fleet } = await fleetOn(name);
    await using _fleet = fleet;
    // The official client takes 10 MB on stdio.
    const raw = fleet.rawWorker();
    await raw.initialize();
    const bytes = 20 * 1024 * 1024;
    const fault = { kind: 'huge', bytes };
    const params = { name: 'own__echo', arguments: { text: 'x', fault } };
    const { result } = await raw.ask('tools/call', params, 2);
    const text: string = result.content[0].text;
    expect(text.length).toBe(bytes);
    expect(text.replaceAll(text[0] ?? '', '')).toBe('');
    const worker = await fleet.worker();
    const seen: number[] = [];
    const call = { name: 'own__slow', arguments: { ms: 200, progressEvery: 50 } };
    await worker.client.callTool(call, undefined, {
      onprogress: ({ progress }) => seen.push(progress),
    });
    expect(seen.length).toBeGreaterThan(1);
  });

  it('are asked by servers, through their own client #fleet', async () => {
    const { fleet } = await fleetOn(name);
    await using _fleet = fleet;
    const worker = await fleet.worker('ann', { elicitation: {} });
    worker.client.setRequestHandler(ElicitRequestSchema, () => ({
      action: 'accept' as const,
      content: { answer: 'forty-two' },
    }));
    const params = {
      message: 'what is it?',
      requestedSchema: { type: 'object', properties: { answer: { type: 'string' } } },
    };
    const answer = await worker.call('own__ask', { method: 'elicitation/create', params });
    expect(JSON.stringify(answer)).toContain('forty-two');
  });

  it('can be programs: the same tools, as a host of the library #fleet', async () => {
    const { fleet } = await fleetOn(name);
    await using _fleet = fleet;
    const { url: broker } = fleet.broker;
    const credential = fleet.broker.credential('ann');
    await using worker = await connectWorker({ broker, to: 'boss', credential });
    const tools = await worker.tools('boss');
    expect(tools.map((tool) => tool.name)).toContain('own__echo');
    const answer = await worker.call('boss', 'own__echo', { text: 'hello' });
    expect(answer.content).toEqual([{ type: 'text', text: 'hello' }]);
  });

  it('are told when what they may use has changed #fleet', async () => {
    const { fleet } = await fleetOn(name);
    await using _fleet = fleet;
    const worker = await fleet.worker();
    const names = async () => (await worker.client.listTools()).tools.map((tool) => tool.name);
    expect(await names()).toContain('own__add');
    let isTold = false;
    worker.client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      isTold = true;
    });
    const before = JSON.parse(readFileSync(fleet.home.configFile, 'utf8'));
    await fleet.home.configure({ ...before, roles: { reader: { allow: ['own/echo'] } } });
    await until(() => isTold, 'it is told');
    expect(await names()).toEqual(['own__echo']);
  });
});
