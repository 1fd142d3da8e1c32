// A legacy client whose connection broke comes back with the id of the last event it saw. A broken
// connection cancels nothing.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { frame, note, result } from '../support/fake-front.ts';
import { httpFront, legacyHeaders } from '../support/http-front.ts';
import { manualClock } from '../support/manual-clock.ts';
import { until } from '../support/until.ts';

const request = (method: string, id: unknown = 1) => ({ jsonrpc: '2.0', id, method });

async function opened(options: Parameters<typeof httpFront>[0] = {}, version = '2025-11-25') {
  const gate = await httpFront(options);
  const session = await gate.initialize(version);
  const headers = legacyHeaders(session, version);
  return {
    gate,
    session,
    post: (body: object) => gate.stream({ headers, body }),
    get: (lastEventId?: string) =>
      gate.stream({
        method: 'GET',
        headers: { ...headers, ...(lastEventId && { 'last-event-id': lastEventId }) },
      }),
  };
}

describe('a request that takes longer than a moment', () => {
  it('becomes a stream that can be resumed before anything is said on it', async () => {
    const clock = manualClock();
    const { gate, post } = await opened({ clock });
    const posted = post(request('tools/call'));
    const { reply } = await gate.arrived('tools/call');
    clock.advance(25);
    const stream = await posted;
    expect(await stream.next()).toMatchObject({
      id: expect.stringMatching(/^p1-0-[0-9a-f]{8}$/),
      retry: '1000',
      data: '',
    });
    reply.answer(result(1));
    const event = await stream.next();
    expect(event).toMatchObject({ event: 'message', id: expect.stringMatching(/^p1-1-/) });
    await stream.ended();
  });

  it('is not changed for clients of earlier versions, which do not understand that', async () => {
    const clock = manualClock();
    const { gate, post } = await opened({ clock }, '2025-06-18');
    const posted = post(request('tools/call'));
    const { reply } = await gate.arrived('tools/call');
    clock.advance(1000);
    reply.answer(result(1));
    expect((await posted).response.headers['content-type']).toBe('application/json');
  });

  it('shows them a sign of life after a while', async () => {
    const clock = manualClock();
    const { gate, post } = await opened({ clock }, '2025-06-18');
    const posted = post(request('tools/call'));
    const { reply } = await gate.arrived('tools/call');
    clock.advance(15_000);
    const stream = await posted;
    expect(stream.response.headers['content-type']).toBe('text/event-stream');
    clock.advance(15_000);
    expect((await stream.next()).comment).toBe('keep-alive');
    reply.answer(result(1));
    expect(await stream.message()).toMatchObject({ id: 1 });
  });
});

describe('a client that comes back', () => {
  it('gets the answer of a request whose connection broke', async () => {
    const { gate, post, get } = await opened();
    const posted = post(request('tools/call', 7));
    const asked = await gate.arrived('tools/call');
    asked.reply.send(note('notifications/progress', { progress: 1 }));
    const broken = await posted;
    expect((await broken.next()).id).toMatch(/^p1-0-/);
    const seen = await broken.next();
    broken.drop();
    asked.reply.send(note('notifications/progress', { progress: 2 }));
    asked.reply.answer(result(7, { done: true }));
    expect(asked.isCancelled).toBe(false);
    const resumed = await get(seen.id);
    expect(await resumed.message()).toMatchObject({ params: { progress: 2 } });
    expect(await resumed.message()).toMatchObject({ id: 7, result: { done: true } });
    await resumed.ended();
    const ids = resumed.events.map(({ id = '' }) => id.slice(0, 5));
    expect(ids).toEqual(['p1-2-', 'p1-3-']);
  });

  it('before the answer gets it when it comes', async () => {
    const { gate, post, get } = await opened();
    const posted = post(request('tools/call', 7));
    const { reply } = await gate.arrived('tools/call');
    const broken = await posted;
    const primed = await broken.next();
    broken.drop();
    const resumed = await get(primed.id);
    reply.send(note('notifications/progress', { progress: 1 }));
    expect(await resumed.message()).toMatchObject({ params: { progress: 1 } });
    reply.answer(result(7));
    expect(await resumed.message()).toMatchObject({ id: 7 });
    await resumed.ended();
  });

  it('while its old connection seems open takes its place', async () => {
    const { gate, post, get } = await opened();
    const posted = post(request('tools/call', 7));
    const { reply } = await gate.arrived('tools/call');
    const stale = await posted;
    const primed = await stale.next();
    const resumed = await get(primed.id);
    await stale.ended();
    reply.answer(result(7));
    expect(await resumed.message()).toMatchObject({ id: 7 });
  });

  it('after it has seen everything learns that there is no more', async () => {
    const { gate, post, get } = await opened();
    const posted = post(request('tools/call', 7));
    const { reply } = await gate.arrived('tools/call');
    reply.send(note('x'));
    reply.answer(result(7));
    const stream = await posted;
    await stream.ended();
    const again = await get(stream.events.at(-1)?.id);
    await again.ended();
    expect(again.events).toEqual([]);
  });

  it('gets nothing of another stream', async () => {
    const { gate, post, get } = await opened();
    const one = post(request('tools/call', 1));
    const first = await gate.arrived('tools/call');
    const two = post(request('tools/list', 2));
    const second = await gate.arrived('tools/list');
    first.reply.send(note('of the first'));
    second.reply.send(note('of the second'));
    const [a, b] = [await one, await two];
    expect((await a.message()).method).toBe('of the first');
    expect((await b.message()).method).toBe('of the second');
    const id = a.events.at(-1)?.id;
    a.drop();
    second.reply.send(note('more of the second'));
    first.reply.answer(result(1));
    const resumed = await get(id);
    expect(await resumed.message()).toMatchObject({ id: 1 });
    await resumed.ended();
    second.reply.answer(result(2));
    expect((await b.message()).method).toBe('more of the second');
  });

  it('to a stream it listened on goes on where it was', async () => {
    const { gate, get } = await opened();
    const { outlet } = gate.front.session;
    const broken = await get();
    outlet.send(note('hello', { n: 1 }));
    outlet.send(note('hello', { n: 2 }));
    expect(await broken.message()).toMatchObject({ params: { n: 1 } });
    const seen = broken.events.find(({ data }) => data?.includes('"n":1'))?.id;
    const resumed = await get(seen);
    outlet.send(note('hello', { n: 3 }));
    expect(await resumed.message()).toMatchObject({ params: { n: 2 } });
    expect(await resumed.message()).toMatchObject({ params: { n: 3 } });
    await broken.ended();
  });

  it('to a stream that was seen to end gets what it missed and what waits', async () => {
    const { gate, get } = await opened();
    const { outlet } = gate.front.session;
    const broken = await get();
    outlet.send(note('hello', { n: 1 }));
    await broken.message();
    const seen = broken.events.at(-1)?.id;
    outlet.send(note('hello', { n: 2 }));
    broken.drop();
    const isWaiting = async () => {
      outlet.send(note('hello', { n: 3 }));
      return true;
    };
    await until(isWaiting, 'a message');
    const resumed = await get(seen);
    expect(await resumed.message()).toMatchObject({ params: { n: 2 } });
    expect(await resumed.message()).toMatchObject({ params: { n: 3 } });
  });

  it.each(['p99-1', 'p99-1-0123abcd', 'nonsense', 'p1', '-1'])(
    'with the unknown event %s is refused',
    async (id) => {
      const { get } = await opened();
      expect((await get(id)).status).toBe(400);
    },
  );

  it('too late is refused, because what is stored is bounded', async () => {
    const { gate, post, get } = await opened({ limits: { keptEvents: 2 } });
    const posted = post(request('tools/call', 7));
    const { reply } = await gate.arrived('tools/call');
    reply.send(note('x'));
    const stream = await posted;
    const primed = await stream.next();
    reply.answer(result(7));
    await stream.ended();
    for (const n of [1, 2, 3]) gate.front.session.outlet.send(note('hello', { n }));
    expect((await get(primed.id)).status).toBe(400);
  });
});

describe('a connection that breaks', () => {
  it('before anything was said on it cancels nothing, and its answer is let go', async () => {
    const { gate, session } = await opened({}, '2025-06-18');
    const headers = legacyHeaders(session, '2025-06-18');
    const sent = gate.send({ headers, body: request('tools/call') }, () => {});
    sent.on('error', () => {});
    const asked = await gate.arrived('tools/call');
    sent.destroy();
    const other = gate.stream({ headers, body: request('tools/list', 2) });
    const second = await gate.arrived('tools/list');
    asked.reply.send(note('nobody'));
    asked.reply.answer(result(1));
    second.reply.answer(result(2));
    expect((await other).status).toBe(200);
    expect(asked.isCancelled).toBe(false);
    expect(gate.front.session.isClosed).toBe(false);
    expect(gate.reports).toEqual([]);
  });

  it('because its client reads too slowly can be resumed', async () => {
    const { gate, post, get } = await opened({ limits: { streamBytes: 1_000_000 } });
    const posted = post(request('tools/call', 7));
    const { reply } = await gate.arrived('tools/call');
    reply.send(note('first'));
    const stream = await posted;
    await stream.next();
    stream.response.pause();
    const text = 'x'.repeat(500_000);
    for (let n = 0; n < 40; n += 1) reply.send(note('more', { text, n }));
    reply.answer(result(7, { done: true }));
    stream.response.resume();
    await stream.ended();
    const resumed = await get(stream.events.at(-1)?.id);
    let message = await resumed.message();
    while (message.method === 'more') message = await resumed.message();
    expect(message).toMatchObject({ id: 7, result: { done: true } });
  });
});

/** A client on the SDK 1.x: what it asked for on GETs that resume a stream, and what it met. */
async function sdkClient() {
  const gate = await httpFront({ limits: { primeMs: 1, retryMs: 1 } });
  const resumed: number[] = [];
  const errors: unknown[] = [];
  const recording: typeof fetch = async (url, init) => {
    const response = await fetch(url, init);
    if (new Headers(init?.headers).has('last-event-id')) resumed.push(response.status);
    return response;
  };
  const address = new URL(`http://127.0.0.1:${gate.port}/mcp`);
  const transport = new StreamableHTTPClientTransport(address, { fetch: recording });
  const client = new Client({ name: 'test', version: '1' });
  client.onerror = (error) => errors.push(error);
  // biome-ignore lint/suspicious/noExplicitAny: the types of the SDK do not agree with each other here
  await client.connect(transport as any);
  onTestFinished(() => client.close());
  return { gate, client, resumed, errors };
}

describe('a client on the SDK 1.x', () => {
  it('that cancelled a call comes back once for its stream, and meets no error', async () => {
    const { gate, client, resumed, errors } = await sdkClient();
    const stop = new AbortController();
    const call = client.callTool({ name: 'slow' }, undefined, { signal: stop.signal });
    const { reply } = await gate.arrived('tools/call');
    reply.send(note('notifications/message', { level: 'info', data: 'begun' }));
    stop.abort('enough');
    await expect(call).rejects.toThrow();
    reply.withdrawn?.();
    await until(() => resumed.length > 0, 'the client to come back');
    expect([resumed, errors]).toEqual([[405], []]);
  });

  it('that got an error reconnects once, and does not begin to listen again', async () => {
    const { gate, client, resumed, errors } = await sdkClient();
    const call = client.callTool({ name: 'slow' });
    const { reply, message } = await gate.arrived('tools/call');
    reply.send(note('notifications/message', { level: 'info', data: 'begun' }));
    const error = { code: -32603, message: 'no' };
    reply.answer(frame({ jsonrpc: '2.0', id: message.id, error }), -32603);
    await expect(call).rejects.toThrow('no');
    await until(() => resumed.length > 0, 'the client to come back');
    expect([resumed, errors]).toEqual([[405], []]);
  });
});
