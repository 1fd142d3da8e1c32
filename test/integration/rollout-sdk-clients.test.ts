// The official clients of both eras while the HTTP front that they use is replaced: a call that is under way is
// answered, a question that is open is answered by way of the successor, and a cancellation reaches the call. The
// sessions of legacy clients go on without a new `initialize`.

import { randomBytes } from 'node:crypto';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { Gateway } from '../../src/downstream/gateway.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { gatewayHostWith } from '../support/host.ts';
import { replicaAt, rolloutFronts } from '../support/rollout-fronts.ts';
import { until } from '../support/until.ts';
import { type FixtureServer, serverKind, startServer } from './matrix/fixture-server.ts';

let fixture: FixtureServer;
beforeAll(async () => {
  fixture = await startServer(serverKind('sdk-2-legacy', 'stdio'));
});
afterAll(() => fixture?.[Symbol.asyncDispose]());

const settings = {
  naming: 'prefix',
  surface: 'direct',
  hostTools: false,
  listWaitMs: 5_000,
} as const;
const identity = { name: 'holdfast', version: '0' };

/** Each front has a gateway and a host of its own. */
async function started() {
  const key = randomBytes(32);
  const opened: string[] = [];
  const gateways: Gateway[] = [];
  const made = await rolloutFronts(async (at) => {
    const host = gatewayHostWith({ m: fixture.entry as never });
    const replica = { id: replicaAt(at), key, doServersMove: true };
    const gateway = new Gateway({ host, clock: systemClock, identity, settings, replica });
    gateways.push(gateway);
    const openSession = gateway.openSession.bind(gateway);
    gateway.openSession = (principal, outlet, options) => {
      opened.push(`${at} ${options?.key}`);
      return openSession(principal, outlet, options);
    };
    onTestFinished(async () => {
      await gateway[Symbol.asyncDispose]();
      await host.close();
    });
    return { front: gateway };
  });
  const underWay = () => gateways[0]?.underWay ?? 0;
  return { ...made, opened, underWay };
}

async function connected(url: string, mode: 'legacy' | 'auto') {
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } },
  );
  const asked: ((name: string) => void)[] = [];
  client.setRequestHandler('elicitation/create', async () => {
    const name = await new Promise<string>((resolve) => void asked.push(resolve));
    return { action: 'accept', content: { name } };
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  onTestFinished(() => client.close());
  const call = (name: string, tag: string, signal?: AbortSignal) =>
    client.callTool({ name: `m__${name}`, arguments: { tag } }, signal ? { signal } : {});
  return { client, asked, call };
}

describe.each(['legacy', 'auto'] as const)('a client in the mode %s', (mode) => {
  it('goes on over several hand-overs, with calls under way #rollout', async () => {
    const { first, roll, opened, underWay } = await started();
    const { client, call } = await connected(first.http.url, mode);
    const before = await client.listTools();
    const tag = `steps-${mode}`;
    const running = call('steps', tag);
    await until(() => underWay() > 0, 'the call');
    const { former } = await roll();
    await roll();
    expect((await client.listTools()).tools).toEqual(before.tools);
    expect(underWay()).toBe(1);
    await fixture.probe.release(tag);
    expect((await running).content).toEqual([{ type: 'text', text: 'done' }]);
    await former.ended;
    await client.listTools();
    const keys = new Set(opened.map((one) => one.split(' ')[1]));
    expect(keys.size).toBe(mode === 'legacy' ? 1 : 0);
  });

  it('answers a question of a call of the former #rollout', async () => {
    const { first, roll } = await started();
    const { asked, call } = await connected(first.http.url, mode);
    const tag = `form-${mode}`;
    const running = call('ask_form', tag);
    await until(() => asked.length === 1, 'the question');
    await roll();
    await roll();
    asked[0]?.('Ada');
    const { structuredContent } = await running;
    expect(structuredContent).toMatchObject({ action: 'accept', content: { name: 'Ada' } });
    expect(fixture.probe.entries('executed', { tag })).toHaveLength(1);
  });

  it('cancels a call of the former #rollout', async () => {
    const { first, roll } = await started();
    const { client, call } = await connected(first.http.url, mode);
    const tag = `wait-${mode}`;
    const cancelling = new AbortController();
    const running = call('wait', tag, cancelling.signal);
    await fixture.probe.saw('waiting', { tag });
    const { former } = await roll();
    cancelling.abort('enough');
    await expect(running).rejects.toThrow();
    await fixture.probe.saw('cancelled', { tag });
    await former.ended;
    await client.listTools();
  });
});
