// A client at the pipes of `holdfast serve --stdio` while another process takes over: what is in the pipe is answered
// once, whatever part of it which process has read, and the session goes on without another hello.

import { describe, expect, it } from 'vitest';
import { isAlive, processesOf } from '../rollout/processes.ts';
import { faultyHttp, faultyStdio, temporaryFolder } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import type { Json, StdioClient } from '../support/gateway-stdio-client.ts';
import { executions, received } from '../support/ledger.ts';
import { servingPid } from '../support/serving-process.ts';
import { until } from '../support/until.ts';

const call = (id: number, name: string, args: object) =>
  `${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } })}\n`;

const idOf = (line: string): unknown => (JSON.parse(line) as Json).id;

/** Another process serves, and the one before has ended. */
async function rolled(client: StdioClient, during: () => void = () => {}): Promise<void> {
  const { serving } = await processesOf(client.pid);
  process.kill(client.pid, 'SIGHUP');
  during();
  await until(async () => {
    const now = (await processesOf(client.pid)).serving;
    return now.length === 1 && now[0] !== serving[0];
  }, 'another process serves');
}

describe('serve --stdio during a rollout', () => {
  it('answers three requests that are in the pipe, each once #rollout', async () => {
    await using folder = await temporaryFolder();
    const ledger = folder.file('ledger');
    await using home = await GatewayHome.create({ mcpServers: { own: faultyStdio({ ledger }) } });
    await using client = home.stdio();
    await client.initialize();
    const holder = client.pid;
    const names = ['own__add', 'own__slow', 'own__echo'];
    const from = client.lines.length;
    await rolled(client, () => {
      const calls = names.map((name, at) => call(at + 10, name, { nonce: `t${at}`, ms: 700 }));
      client.write(calls.join(''));
    });
    for (const id of [10, 11, 12]) expect((await client.answer(id, from)).result).toBeDefined();
    for (const at of [0, 1, 2]) expect(executions(ledger, `t${at}`)).toBe(1);
    expect(client.pid).toBe(holder);
    // Nothing else was said, and the session goes on.
    expect(client.lines.slice(from).map(idOf).toSorted()).toEqual([10, 11, 12]);
    expect((await client.ask('tools/list', {}, 13)).result.tools.length).toBeGreaterThan(10);
  });

  it('answers what comes in pieces all the time, over several rollouts #rollout', async () => {
    await using folder = await temporaryFolder();
    const ledger = folder.file('ledger');
    await using home = await GatewayHome.create({ mcpServers: { own: faultyStdio({ ledger }) } });
    await using client = home.stdio();
    await client.initialize();
    const from = client.lines.length;
    let sent = 100;
    let isOver = false;
    const writing = (async () => {
      while (!isOver) {
        const text = call(sent, 'own__add', { nonce: `p${sent}`, key: `p${sent}` });
        sent += 1;
        client.write(text.slice(0, 30));
        await new Promise((resolve) => setImmediate(resolve));
        client.write(text.slice(30));
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    })();
    await rolled(client);
    await rolled(client);
    isOver = true;
    await writing;
    for (let id = 100; id < sent; id += 1) {
      const { result } = await client.answer(id, from);
      expect(result.structuredContent).toEqual({ key: `p${id}`, value: 1 });
    }
    const ids = client.lines.slice(from).map(idOf);
    expect(ids).toHaveLength(new Set(ids).size);
    expect(ids).toHaveLength(sent - 100);
  });

  it('gives the last answer of a former whole, though its successor does not read for a while #rollout', async () => {
    await using folder = await temporaryFolder();
    const ledger = folder.file('ledger');
    await using remote = await faultyHttp({ ledger });
    await using home = await GatewayHome.create({ mcpServers: { remote: { url: remote.url } } });
    await using client = home.stdio();
    await client.initialize();
    const text = 'z'.repeat(5_000_000);
    const fault = { kind: 'slow', ms: 3_000 };
    client.write(call(30, 'remote__echo', { text, nonce: 'last', fault }));
    await until(() => received(ledger, 'last') === 1, 'the call');
    const [former = 0] = (await processesOf(client.pid)).serving;
    process.kill(client.pid, 'SIGHUP');
    const told = 'has taken over';
    await until(() => client.stderr.includes(told), 'the successor serves');
    const successor = await servingPid(client.pid, [former]);
    process.kill(successor, 'SIGSTOP');
    // Either it has ended too early, or it waits for the successor.
    const isOver = () => !isAlive(former);
    await until(isOver, 'the former ends', 4_500).catch(() => {});
    process.kill(successor, 'SIGCONT');
    const { result } = await client.answer(30);
    expect(result.structuredContent?.text).toBe(text);
    await until(isOver, 'the former ends');
  });

  it('takes a request of 5 MB that is cut by the fence, and gives such an answer #rollout', async () => {
    await using home = await GatewayHome.create({ mcpServers: { own: faultyStdio() } });
    await using client = home.stdio();
    await client.initialize();
    const text = 'x'.repeat(5_000_000);
    const whole = call(20, 'own__echo', { text });
    client.write(whole.slice(0, 3_000_000));
    await rolled(client);
    client.write(whole.slice(3_000_000));
    expect((await client.answer(20)).result.structuredContent).toEqual({ text });
    // The answer is cut wherever the fence finds it.
    const from = client.lines.length;
    await rolled(client, () => client.write(call(21, 'own__echo', { text })));
    expect((await client.answer(21, from)).result.structuredContent).toEqual({ text });
  });
});
