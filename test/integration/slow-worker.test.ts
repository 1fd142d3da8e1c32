// A worker that stops reading in the middle of what it has asked for, on both brokers: it slows only itself, and what
// broker and orchestrator hold for it is limited. When it reads again it gets everything, as it was.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { startCrowdBroker } from '../fleet/crowd-brokers.ts';
import { faultyStdio } from '../support/faulty.ts';
import { Fleet } from '../support/fleet.ts';
import type { StdioClient } from '../support/gateway-stdio-client.ts';
import { workingPid } from '../support/serving-process.ts';
import { TcpRelay } from '../support/tcp-relay.ts';

const mebibyte = 1024 * 1024;

interface Asked {
  readonly calls: number;
  /** Of each result. */
  readonly bytes: number;
  /** How much the worker has read when it stops. */
  readonly readBytes: number;
}

const asked: readonly (readonly [string, Asked])[] = [
  ['large results', { calls: 4, bytes: 6 * mebibyte, readBytes: 2 * mebibyte }],
  ['many small results', { calls: 48, bytes: 128 * 1024, readBytes: mebibyte }],
];

describe.each(['command', 'nats'] as const)('a worker on the broker %s', (name) => {
  it.each(asked)('that stops reading %s slows only itself #no-growth #fleet', async (_, load) => {
    const crowd = await startCrowdBroker(name, 2);
    await using fleet = await Fleet.start(crowd.broker, {
      mcpServers: { own: { ...faultyStdio(), limits: { frameBytes: 33_554_432 } } },
      roles: { reader: { allow: ['own/*'] } },
    });
    await using relay = await TcpRelay.to(crowd.broker.url);
    const slow = fleet.rawWorkerBy(crowd.credentials[0] ?? '', relay.url);
    const well = fleet.rawWorkerBy(crowd.credentials[1] ?? '');
    for (const worker of [slow, well]) {
      await worker.initialize();
      // Its link is opened by its first call.
      await worker.ask('tools/call', echo('started'), 'started');
    }
    const orchestrator: number = JSON.parse(fleet.orchestrator.stdout).pid;
    const before = [crowd.pid, orchestrator].map(residentBytes);
    const stopped = relay.stopReadingAfter(load.readBytes);
    const from = slow.lines.length;
    for (let call = 0; call < load.calls; call += 1) {
      const params = echo('large', load.bytes);
      slow.send({ jsonrpc: '2.0', id: call, method: 'tools/call', params });
    }
    await stopped;
    await othersGoOn(well);
    const grown = [crowd.pid, orchestrator].map(
      (pid, at) => residentBytes(pid) - (before[at] ?? 0),
    );
    // Wide, because a heap grows by itself; what is held for one link is counted in the tests of `downloads.ts`,
    // `call-book.ts` and the hub. Storing a large answer takes the orchestrator several times its size for a while.
    expect(grown[0]).toBeLessThan(128 * mebibyte);
    expect(grown[1]).toBeLessThan(768 * mebibyte);
    relay.readAgain();
    await slow.line(from + load.calls - 1);
    const answers = slow.lines.slice(from).map((line) => JSON.parse(line));
    expect(new Set(answers.map(({ id }) => id)).size).toBe(load.calls);
    for (const { result } of answers) {
      const text: string = result.content[0].text;
      expect([text.length, text.replaceAll(text[0] ?? '', '')]).toEqual([load.bytes, '']);
    }
  });
});

function echo(text: string, bytes?: number) {
  const fault = bytes === undefined ? {} : { fault: { kind: 'huge', bytes } };
  return { name: 'own__echo', arguments: { text, ...fault } };
}

async function othersGoOn(worker: StdioClient): Promise<void> {
  for (let call = 0; call < 40; call += 1) {
    const { result } = await worker.ask('tools/call', echo(`text ${call}`), `well-${call}`);
    expect(result.content).toEqual([{ type: 'text', text: `text ${call}` }]);
  }
}

function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${workingPid(pid)}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}
