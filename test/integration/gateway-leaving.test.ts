// A client that goes away in the middle of a call, in every way there is: its server is told soon,
// its place is free, and nothing of it is left behind. What a server was told is read from a record
// of its input, which outlives both the server and the gateway.

import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome, type Served } from '../support/gateway-home.ts';
import { HttpClient, modernRequest } from '../support/gateway-http-client.ts';
import { callIn, isCancelledIn, recorded } from '../support/gateway-recorded.ts';
import { legacyHello, StdioClient } from '../support/gateway-stdio-client.ts';
import { processesWith } from '../support/host.ts';
import { until } from '../support/until.ts';

const eras = ['legacy', 'modern'] as const;
type Era = (typeof eras)[number];

/** Five times what is promised. */
const boundMs = 5000;
let home: GatewayHome;
let calls = 0;

const record = (era: Era) => home.file(`${era}.jsonl`);

beforeAll(async () => {
  home = await GatewayHome.create();
  const server = (era: Era) => recorded(faultyStdio({ era }), record(era));
  const mcpServers = { legacy: server('legacy'), modern: server('modern') };
  await home.configure({ mcpServers, drainMs: 500 });
});

afterAll(() => home[Symbol.asyncDispose]());

/** A call that takes longer than any test, and how its server comes to know of it and of its end. */
function longCall(era: Era) {
  const nonce = `call-${++calls}`;
  return {
    nonce,
    params: { name: `${era}__slow`, arguments: { ms: 600_000, progressEvery: 20, nonce } },
    arrived: () => until(() => callIn(record(era), nonce) !== undefined, 'the call to arrive'),
    isCancelled: () => isCancelledIn(record(era), nonce),
    async cancelledAfter(leave: () => unknown): Promise<void> {
      await leave();
      await until(() => isCancelledIn(record(era), nonce), 'the server to be told', boundMs);
    },
  };
}

describe.each(eras)('a client over HTTP of a %s server', (era) => {
  let served: Served;
  let client: HttpClient;
  let onlooker: HttpClient;

  beforeAll(async () => {
    served = await home.serve();
    client = new HttpClient(served.url);
    onlooker = new HttpClient(served.url);
    await onlooker.modern('tools/list');
  });

  afterAll(async () => {
    client[Symbol.dispose]();
    onlooker[Symbol.dispose]();
    const { code, stderr } = await served.stop();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(processesWith(home.folder)).toEqual([]);
  });

  /** Nothing of the call is left, and others are served as before. */
  async function nothingIsLeft(): Promise<void> {
    const health = async () => {
      const args = { render: 'json', detail: 'full' };
      const { result } = await onlooker.call('holdfast__health_snapshot', args);
      return result.structuredContent.status.servers.find(
        ({ name }: { name: string }) => name === era,
      );
    };
    await until(async () => (await health()).inFlight === 0, 'the place to be free');
    expect(await health()).toMatchObject({ inFlight: 0, queued: 0, leases: [] });
    const { result } = await onlooker.call(`${era}__echo`, { text: 'others' });
    expect(result.structuredContent.text).toBe('others');
    const who = await onlooker.call(`${era}__whoami`);
    expect(who.result.structuredContent.inFlight).toBeLessThanOrEqual(2);
  }

  it('that closes its socket has cancelled its modern request #cancel #gone-client', async () => {
    const { params, arrived, cancelledAfter } = longCall(era);
    const pending = client.begin(modernRequest('tools/call', params));
    pending.answered.catch(() => {});
    await arrived();
    await cancelledAfter(pending.cut);
    await nothingIsLeft();
  });

  it('that closes the stream it listens on has cancelled its modern request #cancel', async () => {
    const { params, cancelledAfter } = longCall(era);
    const wish = { ...params, _meta: { progressToken: 'token' } };
    const stream = await client.open(modernRequest('tools/call', wish));
    expect((await stream.message()).params.progressToken).toBe('token');
    await cancelledAfter(() => stream.drop());
    await nothingIsLeft();
  });

  it('that loses its connection may come back to its session, until it ends it #cancel', async () => {
    const { params, arrived, isCancelled, cancelledAfter } = longCall(era);
    const session = await client.session();
    const pending = session.begin('tools/call', params, 'long');
    pending.answered.catch(() => {});
    await arrived();
    pending.cut();
    // Two round trips later a cancellation would have been on its way long since.
    await session.ask('ping');
    await session.call(`${era}__echo`, { text: 'after' });
    expect(isCancelled()).toBe(false);
    await cancelledAfter(() => session.delete());
    expect((await session.ask('ping')).status).toBe(404);
    await nothingIsLeft();
  });

  it('that closes its stream of 2024 has gone #cancel', async () => {
    const { params, arrived, cancelledAfter } = longCall(era);
    const stream = await client.open({ method: 'GET', path: '/sse' });
    const path = (await stream.next()).data ?? '';
    const headers = { 'content-type': 'application/json' };
    const post = (body: object) => client.ask({ path, headers, body });
    await post(legacyHello(0, '2024-11-05'));
    expect((await stream.message()).result.protocolVersion).toBe('2024-11-05');
    await post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    await arrived();
    await cancelledAfter(() => stream.drop());
    await until(async () => (await post(legacyHello())).status === 404, 'the session to be gone');
    await nothingIsLeft();
  });

  it('that cancels and stays is not answered any more, and its POST ends #cancel', async () => {
    const { params, arrived, cancelledAfter } = longCall(era);
    const session = await client.session();
    const pending = session.begin('tools/call', params, 7);
    await arrived();
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } };
    await cancelledAfter(() => client.ask({ headers: session.headers, body: cancel }));
    const again = await session.call(`${era}__echo`, { text: 'again' }, 7);
    expect(again.result.structuredContent.text).toBe('again');
    // Nothing is answered, and nothing hangs: the POST ends without a message.
    const { status, json } = await pending.answered;
    // 202, or a stream without a message if it had become one.
    expect([200, 202]).toContain(status);
    expect(json ?? null).toBe(null);
    await session.delete();
    await nothingIsLeft();
  });
});

describe.each(eras)('a client over stdio of a %s server', (era) => {
  it('that closes the pipe ends the gateway, and each call is cancelled at its server first #cancel', async () => {
    const client = home.stdio();
    await client.initialize();
    const calls = [longCall(era), longCall(era), longCall(era)];
    for (const [id, { params }] of calls.entries()) {
      client.send({ jsonrpc: '2.0', id, method: 'tools/call', params });
    }
    for (const { arrived } of calls) await arrived();
    await calls[0]?.cancelledAfter(() => void client.end());
    const { code, stderr } = await client.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(calls.map(({ isCancelled }) => isCancelled())).toEqual([true, true, true]);
    // What could not end in time was answered for its server.
    const answers = client.lines.slice(1).map((line) => JSON.parse(line));
    expect(new Set(answers.map(({ id }) => id))).toEqual(new Set([0, 1, 2]));
    for (const { result } of answers) {
      expect(result._meta['holdfast/fault'].code).toBe('outcome_unknown');
    }
    expect(processesWith(home.folder)).toEqual([]);
  });

  it('that is killed leaves nothing behind either #cancel #no-orphans #gone-client', async () => {
    const { params, arrived, cancelledAfter } = longCall(era);
    const { command, args, env } = home.stdioCommand;
    const client = new StdioClient(
      spawn(process.execPath, ['-e', parent, command, ...args], { env }),
    );
    await client.initialize();
    client.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    await arrived();
    expect(processesWith(home.folder)).not.toEqual([]);
    await cancelledAfter(() => client.kill('SIGKILL'));
    await until(() => processesWith(home.folder).length === 0, 'everything to end');
  });
});

/** A client program that starts the gateway as its child, and hands on what it is told. */
const parent = `
  const { spawn } = require('node:child_process');
  const [command, ...args] = process.argv.slice(1);
  const gateway = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  process.stdin.pipe(gateway.stdin);
  gateway.stdout.pipe(process.stdout);
`;
