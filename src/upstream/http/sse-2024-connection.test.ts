import { describe, expect, it } from 'vitest';
import type { FakeRequest } from '../../../test/support/fake-http.ts';
import { settled } from '../../../test/support/manual-clock.ts';
import { remoteServer, sseServer } from '../../../test/support/remote-server.ts';
import { Fault } from '../../kernel/fault.ts';
import type { Connection } from '../connection.ts';
import { connectSse } from './connect-http.ts';

function call(connection: Connection, progressed?: (params: Buffer) => void) {
  const members = '"name":"read","arguments":{}';
  const options = progressed && { progress: { progressed } };
  const exchange = connection.request('tools/call', { members }, options);
  exchange.answer.catch(() => {});
  return exchange;
}

async function begin() {
  const world = remoteServer(undefined, connectSse);
  await settled();
  return world;
}

describe('meeting a server of the 2024 transport', () => {
  it('listens first, and posts to the address it gets', async () => {
    const { connection, http } = await sseServer();
    expect(http.methods).toEqual(['GET', 'initialize', 'notifications/initialized']);
    expect(http.requests[1]?.request.url.href).toBe('https://docs.example/messages?session=7');
    expect(http.requests[0]?.headers).toEqual({
      authorization: 'Bearer secret',
      accept: 'text/event-stream',
    });
    expect([connection.era, connection.protocolVersion, connection.pid]).toEqual([
      'legacy',
      '2025-06-18',
      null,
    ]);
  });

  it.each([
    ['another origin', 'https://evil.example/messages'],
    ['another scheme', 'http://docs.example/messages'],
    ['no address at all', 'http://'],
  ])('carries no credential to %s', async (_name, address) => {
    const { http, connecting } = await begin();
    http.last.stream().data(`event: endpoint\ndata: ${address}\n\n`);
    await expect(connecting).rejects.toMatchObject({ message: expect.stringContaining('origin') });
    expect(http.methods).toEqual(['GET']);
  });

  const failures: readonly (readonly [string, (get: FakeRequest) => void, string])[] = [
    ['HTTP 401', (get) => get.status(401), 'auth_required'],
    ['HTTP 404', (get) => get.status(404), 'unavailable'],
    ['no connection', (get) => get.break('ECONNREFUSED'), 'unavailable'],
    ['a stream that ends', (get) => get.stream().end(), 'unavailable'],
    ['a stream without end', (get) => void get.stream().data('x'.repeat(5_000)), 'unavailable'],
  ];

  it.each(failures)('fails by %s, which is not reported as a loss', async (_name, play, code) => {
    const { http, connecting, lost } = await begin();
    play(http.last);
    await expect(connecting).rejects.toMatchObject({ code });
    expect(lost).toEqual([]);
  });

  it.each(['stream', 'endpoint', 'initialize', 'initialized'])(
    'ends when it is cancelled before: %s',
    async (stage) => {
      const { http, connecting, abort, lost } = await begin();
      if (stage !== 'stream') http.last.stream();
      if (stage.startsWith('init')) {
        http.last.data('event: endpoint\ndata: /m\n\n');
        await settled();
        http.find('initialize').sent();
      }
      if (stage === 'initialized') {
        http.find('initialize').respond(202).end();
        http
          .find('GET')
          .event({ jsonrpc: '2.0', id: 1, result: { protocolVersion: '2024-11-05' } });
        await settled();
        http.find('notifications/initialized').sent();
      }
      abort.abort(new Fault('start_timeout', 'too slow'));
      await expect(connecting).rejects.toMatchObject({ code: 'start_timeout' });
      expect([http.find('GET').isAborted, http.last.isAborted]).toEqual([true, true]);
      expect(lost).toEqual([]);
    },
  );
});

describe('a call over the 2024 transport', () => {
  it('is answered on the stream, with progress before', async () => {
    const { connection, http } = await sseServer();
    const heard: Buffer[] = [];
    const exchange = call(connection, (params) => heard.push(params));
    expect(exchange.dispatched).toBe('no');
    expect(http.last.headers).toMatchObject({ 'mcp-protocol-version': '2025-06-18' });
    expect(http.last.body['params']).toMatchObject({ _meta: { progressToken: exchange.id } });
    http.last.status(202);
    expect(exchange.dispatched).toBe('maybe');
    const params = { progressToken: exchange.id, progress: 1 };
    http.find('GET').event({ jsonrpc: '2.0', method: 'notifications/progress', params });
    http.find('GET').event({ jsonrpc: '2.0', id: exchange.id, result: {} });
    expect((await exchange.answer).kind).toBe('result');
    expect(heard).toHaveLength(1);
  });

  it.each([
    [401, 'auth_required', 'no'],
    [429, 'unavailable', 'no'],
    [300, 'protocol_violation', 'maybe'],
    [500, 'unavailable', 'maybe'],
  ])('that is refused by HTTP %i is %s, dispatched %s', async (status, code, dispatched) => {
    const { connection, http } = await sseServer();
    const exchange = call(connection);
    http.last.status(status);
    await expect(exchange.answer).rejects.toMatchObject({ code, dispatched });
  });

  it('that meets a forgotten session (404) has not run, and ends the connection', async () => {
    const { connection, http, lost } = await sseServer();
    const other = call(connection);
    http.last.status(202);
    const exchange = call(connection);
    http.last.status(404);
    await expect(exchange.answer).rejects.toMatchObject({ code: 'unavailable', dispatched: 'no' });
    await expect(other.answer).rejects.toMatchObject({ code: 'unavailable', dispatched: 'maybe' });
    expect([lost.length, connection.isLost]).toEqual([1, true]);
    await connection.close('lost');
  });

  it('that cannot be sent has not left us', async () => {
    const { connection, http } = await sseServer();
    const exchange = call(connection);
    http.last.break('ECONNREFUSED');
    await expect(exchange.answer).rejects.toMatchObject({ dispatched: 'no' });
  });

  it('that is cancelled is cancelled at the server if it may have received it', async () => {
    const { connection, http } = await sseServer();
    const exchange = call(connection);
    http.last.sent();
    exchange.cancel(new Fault('timeout', 'too slow'));
    expect(http.last.body).toMatchObject({
      method: 'notifications/cancelled',
      params: { requestId: exchange.id },
    });
  });

  it('leaves no POST behind that the server never answers', async () => {
    const { connection, http, clock } = await sseServer();
    const exchange = call(connection);
    const post = http.last.sent();
    connection.notify('notifications/x', { members: '' });
    const note = http.last.sent();
    await clock.advanceAsync(29_999);
    expect([post.isAborted, note.isAborted]).toEqual([false, false]);
    await clock.advanceAsync(1);
    // A POST may wait as long as its call does; what wants no answer has a deadline of its own.
    expect([post.isAborted, note.isAborted]).toEqual([false, true]);
    const answer = { jsonrpc: '2.0', id: exchange.id, result: {} };
    http.find('GET').event(answer);
    await exchange.answer;
    await clock.advanceAsync(30_000);
    expect([post.isAborted, clock.pending]).toEqual([true, 0]);
  });

  it('that is cancelled before a socket took it is never sent', async () => {
    const { connection, http } = await sseServer();
    const exchange = call(connection);
    exchange.cancel(new Fault('timeout', 'too slow'));
    expect(http.last.method).toBe('tools/call');
    expect(http.last.isAborted).toBe(true);
    await expect(exchange.answer).rejects.toMatchObject({ dispatched: 'no' });
  });
});

describe('the stream of the 2024 transport', () => {
  it('carries what the server says unasked, and its requests', async () => {
    const { http, notifications, noise } = await sseServer();
    const get = http.find('GET');
    get.event({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    get.event({ jsonrpc: '2.0', id: 's1', method: 'ping' });
    get.data('data: what?\n\n');
    expect(notifications).toHaveLength(1);
    expect(http.last.body).toEqual({ jsonrpc: '2.0', id: 's1', result: {} });
    expect(noise).toEqual(['invalid-message']);
  });

  it.each([
    ['ends', (get: FakeRequest) => get.end()],
    ['breaks', (get: FakeRequest) => get.break('ECONNRESET')],
    ['carries too much at once', (get: FakeRequest) => void get.data('x'.repeat(5_000))],
  ])('is the connection: when it %s, everything on it is lost, once', async (_name, play) => {
    const { connection, http, lost } = await sseServer();
    const written = call(connection);
    http.last.status(202);
    const unsent = call(connection);
    const post = http.last;
    play(http.find('GET'));
    await expect(written.answer).rejects.toMatchObject({
      code: 'unavailable',
      dispatched: 'maybe',
    });
    await expect(unsent.answer).rejects.toMatchObject({ code: 'unavailable', dispatched: 'no' });
    // What was told to have stayed with us must not go out any more.
    expect(post.isAborted).toBe(true);
    expect([lost.length, connection.isLost]).toEqual([1, true]);
    expect(lost[0]?.record).toMatchObject({ server: 'docs', generation: 1 });
    await expect(call(connection).answer).rejects.toMatchObject({ dispatched: 'no' });
    await connection.close('lost');
    expect(lost).toHaveLength(1);
  });

  it('is let go when the connection is closed, which is no loss', async () => {
    const { connection, http, lost } = await sseServer();
    const exchange = call(connection);
    expect(await connection.close('stop')).toBe(0);
    await expect(exchange.answer).rejects.toMatchObject({ code: 'unavailable' });
    expect([http.find('GET').isAborted, http.last.isAborted, lost.length]).toEqual([true, true, 0]);
    await expect(call(connection).answer).rejects.toMatchObject({ dispatched: 'no' });
    expect([connection.isLost, http.methods.length]).toEqual([true, 4]);
  });

  it.each([true, false])('is probed by a ping; answered: %s', async (isAnswered) => {
    const { connection, http, clock } = await sseServer();
    const probing = connection.probe();
    http.last.status(202);
    if (isAnswered)
      http.find('GET').event({ jsonrpc: '2.0', id: http.last.body['id'], result: {} });
    await clock.advanceAsync(5_000);
    expect(await probing).toBe(isAnswered);
    // It was told that the probe is given up.
    if (!isAnswered) http.last.status(202);
    expect(clock.pending).toBe(0);
  });
});
