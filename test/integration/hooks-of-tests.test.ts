// The faults that a test asks for by variables, with real processes: a crash before a reply and a rollout after an
// operation, each once, over a rollout as well; and what is still answered while processes crash all the time.

import { describe, expect, it } from 'vitest';
import { statusOf } from '../support/connect-window.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { executions } from '../support/ledger.ts';
import { servingPid, servingPids } from '../support/serving-process.ts';
import { newFolder } from '../support/sqlite-place.ts';
import { until } from '../support/until.ts';

const operation = 'tools/call:own/add';
const adds = (nonce: string) => ({ nonce, key: 'k', amount: 1 });

/** The serving process when it is another one, and alone: the former has ended. */
async function onlyOther(holder: number, former: number): Promise<number> {
  let now: readonly number[] = [];
  await until(async () => {
    now = await servingPids(holder);
    return now.length === 1 && !now.includes(former);
  }, 'another process serves alone');
  return now[0] ?? 0;
}

async function homeWith() {
  const ledger = `${newFolder()}/ledger`;
  const home = await GatewayHome.create({ mcpServers: { own: faultyStdio({ ledger }) } });
  return { home, ran: (nonce: string) => executions(ledger, nonce) };
}

describe('a test that asks for', () => {
  it('a crash has one, before the reply: the process is replaced, and the call is not repeated #pid-holder', async () => {
    const { home, ran } = await homeWith();
    await using _home = home;
    await using served = await home.serve(undefined, { HOLDFAST_TEST_CRASH_ONCE: operation });
    const first = await servingPid(served.pid);
    using client = new HttpClient(served.url);
    expect((await client.call('own__echo', { text: 'a' })).result).toBeDefined();
    await expect(client.call('own__add', adds('crashed'))).rejects.toThrow();
    expect(ran('crashed')).toBe(1);
    const second = await servingPid(served.pid, [first]);
    using again = new HttpClient(served.url);
    expect((await again.call('own__add', adds('again'))).result).toBeDefined();
    expect((await home.run(['rollout'])).stderr).toBe('');
    expect((await again.call('own__add', adds('after'))).result).toBeDefined();
    await until(async () => (await servingPids(served.pid)).length === 1, 'the former has ended');
    expect(await servingPids(served.pid)).not.toContain(second);
    expect([ran('crashed'), ran('again'), ran('after')]).toEqual([1, 1, 1]);
  });

  it('a rollout has one, after the operation, and none after it #rollout', async () => {
    const { home } = await homeWith();
    await using _home = home;
    await using served = await home.serve(undefined, { HOLDFAST_TEST_ROLLOUT_ONCE: operation });
    const first = await servingPid(served.pid);
    using client = new HttpClient(served.url);
    expect((await client.call('own__add', adds('first'))).result).toBeDefined();
    const second = await onlyOther(served.pid, first);
    expect((await client.call('own__add', adds('second'))).result).toBeDefined();
    expect((await home.run(['rollout'])).stderr).toBe('');
    const third = await onlyOther(served.pid, second);
    expect((await client.call('own__add', adds('third'))).result).toBeDefined();
    // One that was asked for would be shown as running, or would have been.
    expect((await statusOf(home))['rollout']).toBe('stable');
    expect(await servingPids(served.pid)).toEqual([third]);
  });
});

describe('a server that crashes whenever it starts', () => {
  it('keeps nobody from an answer: ping is answered, and the other servers are there', async () => {
    const exits = { command: process.execPath, args: ['-e', 'process.exit(1)'] };
    await using home = await GatewayHome.create({ mcpServers: { own: faultyStdio(), exits } });
    await using client = home.stdio();
    await client.initialize();
    for (let id = 10; id < 20; id += 1) {
      client.write(
        `{"jsonrpc":"2.0","id":${100 + id},"method":"tools/call","params":{"name":"exits__any","arguments":{}}}\n`,
      );
      expect((await client.ask('ping', {}, id)).result).toEqual({});
    }
    const answer = await client.ask(
      'tools/call',
      { name: 'own__echo', arguments: { text: 'a' } },
      30,
    );
    expect(answer.result.content).toEqual([{ type: 'text', text: 'a' }]);
  });
});
