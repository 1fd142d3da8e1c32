import { describe, expect, it } from 'vitest';
import { settled } from '../../../test/support/manual-clock.ts';
import { initialized, legacyServer, remoteServer } from '../../../test/support/remote-server.ts';
import { Fault } from '../../kernel/fault.ts';
import type { Connection } from '../connection.ts';

function call(connection: Connection) {
  const exchange = connection.request('tools/call', { members: '"name":"read","arguments":{}' });
  exchange.answer.catch(() => {});
  return exchange;
}

const badRequest = { code: -32000, message: 'Bad Request: No valid session ID provided' };
const noSuchSession = { code: -32001, message: 'Session not found' };

describe('a legacy session', () => {
  it('names itself and its version in everything after initialize', async () => {
    const { connection, http } = await legacyServer();
    call(connection);
    expect(http.methods).toEqual(['initialize', 'notifications/initialized', 'GET', 'tools/call']);
    const [initialize, ...later] = http.requests;
    expect(initialize?.headers).not.toHaveProperty('mcp-session-id');
    for (const { headers } of later) {
      expect(headers).toMatchObject({ authorization: 'Bearer secret', 'mcp-session-id': 's-1' });
    }
    expect(http.last.headers).toMatchObject({ 'mcp-protocol-version': '2025-06-18' });
    expect(http.last.headers).not.toHaveProperty('mcp-method');
    expect(http.find('GET').headers['accept']).toBe('text/event-stream');
    expect(http.last.body['params']).toEqual({ name: 'read', arguments: {} });
  });

  it('is not needed: a server without one is spoken to without', async () => {
    const { connection, http } = await legacyServer({});
    call(connection);
    expect(http.last.headers).not.toHaveProperty('mcp-session-id');
    await connection.close('end');
    expect(http.methods).not.toContain('DELETE');
  });

  it('is notified that a call was cancelled, if it may have received it', async () => {
    const { connection, http } = await legacyServer();
    const heard = call(connection);
    const post = http.last.sent();
    heard.cancel(new Fault('timeout', 'too slow'));
    expect(post.isAborted).toBe(true);
    expect(http.last.body).toMatchObject({
      method: 'notifications/cancelled',
      params: { requestId: heard.id },
    });
    const unheard = call(connection);
    unheard.cancel(new Fault('timeout', 'too slow'));
    expect(http.last.method).toBe('tools/call');
    expect(http.last.isAborted).toBe(true);
  });

  it('that the server has forgotten has run none of the calls that met a 404', async () => {
    const { connection, http } = await legacyServer();
    const exchanges = [call(connection), call(connection)];
    for (const request of http.requests.slice(-2)) request.status(404);
    for (const { answer } of exchanges) {
      await expect(answer).rejects.toMatchObject({ code: 'unavailable', dispatched: 'no' });
    }
    await connection.close('end');
  });

  it.each([
    ['nothing', undefined],
    ['an error for nobody', { jsonrpc: '2.0', id: null, error: noSuchSession }],
    ['an error for this very call', { jsonrpc: '2.0', id: 2, error: noSuchSession }],
  ])(
    'that the server has forgotten (404 with %s) is lost, and nothing ran',
    async (_name, body) => {
      const { connection, http, lost, noise } = await legacyServer();
      const other = call(connection);
      const exchange = call(connection);
      if (body === undefined) http.last.status(404);
      else
        http.last.json(
          { ...body, ...(body.id === null ? {} : { id: exchange.id }) },
          { status: 404 },
        );
      await expect(exchange.answer).rejects.toMatchObject({
        code: 'unavailable',
        dispatched: 'no',
        message: 'docs has ended the session',
      });
      expect([lost.length, connection.isLost, other.isSettled]).toEqual([1, true, false]);
      expect(noise).toEqual([]);
      await connection.close('end');
      expect(http.methods).not.toContain('DELETE');
    },
  );

  it.each([
    ['nothing', undefined],
    ['an error for nobody', { jsonrpc: '2.0', id: null, error: noSuchSession }],
    ['an error for this very ping', { jsonrpc: '2.0', id: 'own', error: noSuchSession }],
    // As server-everything does, which repeats the id of what it has not read.
    ['-32000 for this very ping', { jsonrpc: '2.0', id: 'own', error: badRequest }],
  ])('in which even a ping is answered 400, with %s, is lost', async (_name, body) => {
    const { connection, http, lost } = await legacyServer();
    const exchange = call(connection);
    http.last.status(400);
    await expect(exchange.answer).rejects.toMatchObject({ dispatched: 'maybe' });
    expect([http.last.method, lost.length]).toEqual(['ping', 0]);
    const own = (http.last.body as { id: number }).id;
    if (body === undefined) http.last.status(400);
    else http.last.json(body.id === null ? body : { ...body, id: own }, { status: 400 });
    await settled();
    expect([lost.length, connection.isLost]).toEqual([1, true]);
    await connection.close('end');
  });

  it('in which even a ping is answered 400, with a body that does not end, is lost', async () => {
    const { connection, http, lost, clock } = await legacyServer();
    call(connection).answer.catch(() => {});
    http.last.status(400);
    await settled();
    expect(http.last.method).toBe('ping');
    http.last.respond(400, { 'content-type': 'application/json' });
    await clock.advanceAsync(5_000);
    expect([lost.length, connection.isLost]).toEqual([1, true]);
    await connection.close('end');
  });

  it.each([
    ['an unknown method', { error: { code: -32601, message: 'no ping' } }],
    ['a result', { result: {} }],
  ])('that answers a ping itself, with 400 and %s, goes on', async (_name, member) => {
    const { connection, http, lost } = await legacyServer();
    for (let calls = 0; calls < 2; calls += 1) {
      const exchange = call(connection);
      http.last.status(400);
      await expect(exchange.answer).rejects.toMatchObject({ dispatched: 'maybe' });
      const { id, method } = http.last.body as { id: number; method: string };
      expect(method).toBe('ping');
      http.last.json({ jsonrpc: '2.0', id, ...member }, { status: 400 });
      await settled();
    }
    expect([lost.length, connection.isLost]).toEqual([0, false]);
    const closing = connection.close('end');
    await settled();
    http.last.status(200);
    await closing;
  });

  it('in which a call is answered 400, and a ping well, goes on', async () => {
    const { connection, http, lost } = await legacyServer();
    const exchange = call(connection);
    http.last.status(400);
    await expect(exchange.answer).rejects.toMatchObject({ dispatched: 'maybe' });
    const { id } = http.last.body as { id: number };
    http.last.json({ jsonrpc: '2.0', id, result: {} });
    expect([lost.length, connection.isLost]).toEqual([0, false]);
    const closing = connection.close('end');
    http.last.status(200);
    await closing;
  });

  it('is ended properly, without waiting long for the answer', async () => {
    const { connection, http, clock } = await legacyServer();
    const closing = connection.close('end');
    await settled();
    expect(http.last.request.method).toBe('DELETE');
    expect(http.last.headers).toMatchObject({ 'mcp-session-id': 's-1' });
    expect(http.find('GET').isAborted).toBe(true);
    await clock.advanceAsync(1_000);
    await closing;
    expect([http.last.isAborted, clock.pending]).toEqual([true, 0]);
  });

  it('is gone as soon as the server says so', async () => {
    const { connection, http, clock } = await legacyServer();
    const closing = connection.close('end');
    await settled();
    http.last.status(204);
    await closing;
    expect(await connection.close('end')).toBe(0);
    expect(clock.pending).toBe(0);
    expect(http.methods.filter((method) => method === 'DELETE')).toHaveLength(1);
  });

  it('is probed by a ping', async () => {
    const { connection, http } = await legacyServer();
    const probing = connection.probe();
    expect(http.last.method).toBe('ping');
    http.last.result({});
    expect(await probing).toBe(true);
  });
});

describe('what a legacy server says unasked', () => {
  it('is heard on a stream of its own', async () => {
    const { http, notifications } = await legacyServer();
    http.find('GET').event({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    expect(notifications.map(({ method }) => method)).toEqual(['notifications/tools/list_changed']);
  });

  it('is answered by a message of its own when it is a request', async () => {
    const { http, asked, connection } = await legacyServer();
    http.find('GET').event({ jsonrpc: '2.0', id: 'srv-1', method: 'ping' });
    expect(http.last.body).toEqual({ jsonrpc: '2.0', id: 'srv-1', result: {} });
    http.find('GET').event({ jsonrpc: '2.0', id: 1, method: 'sampling/createMessage' });
    expect(asked.map(({ method }) => method)).toEqual(['sampling/createMessage']);
    connection.respond('{"jsonrpc":"2.0","id":1,"result":{"role":"user"}}');
    expect(http.last.body).toEqual({ jsonrpc: '2.0', id: 1, result: { role: 'user' } });
  });

  it('is never the answer to a call', async () => {
    const { connection, http, noise } = await legacyServer();
    const exchange = call(connection);
    http.last.sent();
    http.find('GET').event({ jsonrpc: '2.0', id: exchange.id, result: { forged: true } });
    expect([exchange.isSettled, noise]).toEqual([false, ['unknown-id']]);
  });

  it.each([
    ['ends', (get: { end(): void }) => get.end()],
    ['breaks', (get: { break(code: string): void }) => get.break('ECONNRESET')],
  ])('is listened for again when the stream %s, ever more slowly', async (_name, interrupt) => {
    const { http, clock, lost } = await legacyServer();
    const opened = () => http.methods.filter((method) => method === 'GET').length;
    for (const [index, waitMs] of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000].entries()) {
      interrupt(http.find('GET'));
      await clock.advanceAsync(waitMs - 1);
      expect(opened()).toBe(index + 1);
      await clock.advanceAsync(1);
      expect(opened()).toBe(index + 2);
      http.find('GET').stream();
    }
    expect(lost).toEqual([]);
  });

  it.each([
    ['refused', (get: { break(code: string): void }) => get.break('ECONNREFUSED')],
    ['answered by a crashed server', (get: { status(status: number): void }) => get.status(500)],
    ['answered by a gateway', (get: { status(status: number): void }) => get.status(502)],
  ])('is listened for again also when opening the stream is %s', async (_name, fail) => {
    const { http, clock } = await legacyServer();
    http.find('GET').end();
    await clock.advanceAsync(1_000);
    fail(http.find('GET'));
    await clock.advanceAsync(2_000);
    expect(http.methods.filter((method) => method === 'GET')).toHaveLength(3);
  });

  it.each([404, 405, 400])('is not listened for where that is not offered (%i)', async (status) => {
    const { http, clock, lost } = await legacyServer();
    http.find('GET').end();
    await clock.advanceAsync(1_000);
    http.find('GET').status(status);
    await clock.advanceAsync(100_000);
    expect(http.methods.filter((method) => method === 'GET')).toHaveLength(2);
    expect(lost).toEqual([]);
  });

  it('is let go when it is too large, and then listened for again', async () => {
    const { http, clock } = await legacyServer();
    const first = http.find('GET');
    first.data(`data: ${'x'.repeat(5_000)}\n\n`);
    expect(first.isAborted).toBe(true);
    await clock.advanceAsync(1_000);
    expect(http.find('GET')).not.toBe(first);
  });

  it('is listened for again soon after a stretch of health', async () => {
    const { http, clock } = await legacyServer();
    for (const waitMs of [1_000, 2_000, 4_000]) {
      http.find('GET').end();
      await clock.advanceAsync(waitMs);
      http.find('GET').stream();
    }
    const opened = http.requests.length;
    await clock.advanceAsync(30_000);
    http.find('GET').end();
    await clock.advanceAsync(999);
    expect(http.requests).toHaveLength(opened);
    await clock.advanceAsync(1);
    expect(http.requests).toHaveLength(opened + 1);
  });

  it('may have been missed when the stream was away and did not go on where it was #list-news', async () => {
    const { http, clock, missed } = await legacyServer();
    expect(missed()).toBe(0);
    http.find('GET').end();
    await clock.advanceAsync(1_000);
    expect(missed()).toBe(0);
    http.find('GET').stream();
    expect(missed()).toBe(1);
    const note = 'id: e1\ndata: {"jsonrpc":"2.0","method":"notifications/x"}\n\n';
    http.find('GET').data(note).end();
    await clock.advanceAsync(2_000);
    http.find('GET').stream().data(note);
    expect(missed()).toBe(1);
  });

  it('goes on after the last event that had an id, through any number of streams', async () => {
    const { http, clock } = await legacyServer();
    http.find('GET').data('id: e1\ndata: {"jsonrpc":"2.0","method":"notifications/x"}\n\n');
    expect(http.find('GET').headers).not.toHaveProperty('last-event-id');
    http.find('GET').break('ECONNRESET');
    await clock.advanceAsync(1_000);
    expect(http.find('GET').headers).toMatchObject({ 'last-event-id': 'e1' });
    http.find('GET').break('ECONNREFUSED');
    await clock.advanceAsync(2_000);
    expect(http.find('GET').headers).toMatchObject({ 'last-event-id': 'e1' });
  });

  describe('after a resumption that brings nothing', () => {
    async function resumed() {
      const world = await legacyServer();
      world.http.find('GET').data('id: e1\ndata: \n\n').end();
      await world.clock.advanceAsync(1_000);
      const old = world.http.find('GET').stream();
      await world.clock.advanceAsync(2_000);
      return { ...world, old };
    }
    const note = { jsonrpc: '2.0', method: 'notifications/x' };

    it('is heard on a new stream, if the server gives one', async () => {
      const { http, old, notifications, missed } = await resumed();
      const plain = http.find('GET');
      expect(plain.headers).not.toHaveProperty('last-event-id');
      expect(old.isAborted).toBe(false);
      plain.stream().event(note);
      expect([old.isAborted, notifications.length, missed()]).toEqual([true, 1, 1]);
    });

    it('is heard on the resumed stream, if the server refuses another', async () => {
      const { http, clock, old, notifications } = await resumed();
      http.find('GET').status(409);
      old.event(note);
      await clock.advanceAsync(100_000);
      expect([old.isAborted, notifications.length, clock.pending]).toEqual([false, 1, 0]);
      expect(http.methods.filter((method) => method === 'GET')).toHaveLength(3);
    });

    it('needs no other stream if it did bring something', async () => {
      const { http, clock } = await legacyServer();
      http.find('GET').data('id: e1\ndata: \n\n').end();
      await clock.advanceAsync(1_000);
      http.find('GET').stream().event(note);
      await clock.advanceAsync(100_000);
      expect(http.methods.filter((method) => method === 'GET')).toHaveLength(2);
    });
  });

  it('begins again where the server no longer has that event', async () => {
    const { http, clock } = await legacyServer();
    http.find('GET').data('id: e1\ndata: \n\n').end();
    await clock.advanceAsync(1_000);
    http.find('GET').status(400);
    await clock.advanceAsync(2_000);
    expect(http.find('GET').headers).not.toHaveProperty('last-event-id');
    expect(http.methods.filter((method) => method === 'GET')).toHaveLength(3);
  });

  it.each([409, 429])(
    'is listened for again where that is refused for now (%i)',
    async (status) => {
      const { http, clock } = await legacyServer();
      http.find('GET').break('ECONNRESET');
      await clock.advanceAsync(1_000);
      http.find('GET').status(status);
      await clock.advanceAsync(2_000);
      expect(http.methods.filter((method) => method === 'GET')).toHaveLength(3);
    },
  );

  it('is listened for again no sooner than the server says', async () => {
    const { http, clock } = await legacyServer();
    http.find('GET').data('retry: 5000\n\n').end();
    await clock.advanceAsync(4_999);
    expect(http.methods.filter((method) => method === 'GET')).toHaveLength(1);
    await clock.advanceAsync(1);
    expect(http.methods.filter((method) => method === 'GET')).toHaveLength(2);
  });

  it('is not listened for any more once the connection is closed', async () => {
    const { connection, http, clock } = await legacyServer();
    http.find('GET').end();
    const closing = connection.close('end');
    await settled();
    http.last.status(200);
    await closing;
    await clock.advanceAsync(100_000);
    expect(http.methods.filter((method) => method === 'GET')).toHaveLength(1);
  });
});

describe('an answer that a legacy server breaks off to go on later', () => {
  const stream = { 'content-type': 'text/event-stream' };
  const primed = 'id: p1-0\nretry: 500\ndata: \n\n';

  it('is come back for after the wait it asks for, from the last event', async () => {
    const { connection, http, clock } = await legacyServer();
    const exchange = call(connection);
    http.last.sent().respond(200, stream).data(primed).end();
    const before = http.requests.length;
    clock.advance(499);
    expect(http.requests).toHaveLength(before);
    clock.advance(1);
    expect(http.last.request.method).toBe('GET');
    expect(http.last.headers).toMatchObject({ 'last-event-id': 'p1-0', 'mcp-session-id': 's-1' });
    const answer = `{"jsonrpc":"2.0","id":${exchange.id},"result":{"content":[]}}`;
    http.last.sent().respond(200, stream).data(`id: p1-1\ndata: ${answer}\n\n`);
    expect((await exchange.answer).kind).toBe('result');
    expect(http.methods.filter((method) => method === 'tools/call')).toHaveLength(1);
  });

  it('is lost, and may have run, if the server does not take it up again', async () => {
    const { connection, http, clock } = await legacyServer();
    const exchange = call(connection);
    http.last.sent().respond(200, stream).data(primed).end();
    clock.advance(500);
    http.last.sent().respond(405).end();
    const fault = await exchange.answer.catch((thrown: unknown) => thrown);
    expect(fault).toMatchObject({ code: 'unavailable', dispatched: 'maybe' });
  });

  it('is not resumed once its caller has cancelled', async () => {
    const { connection, http, clock } = await legacyServer();
    const exchange = call(connection);
    http.last.sent().respond(200, stream).data(primed).end();
    exchange.cancel(new Fault('cancelled', 'enough'));
    clock.advance(10_000);
    const resumed = http.requests.filter(({ headers }) => 'last-event-id' in headers);
    expect(resumed).toEqual([]);
  });

  it('is come back for also when the connection is cut, and the call is not sent again #never-twice', async () => {
    const { connection, http, clock, lost } = await legacyServer();
    const exchange = call(connection);
    http.last.sent().respond(200, stream).data(primed).break('ECONNRESET');
    clock.advance(500);
    expect(http.last.headers).toMatchObject({ 'last-event-id': 'p1-0', 'mcp-session-id': 's-1' });
    // Cut a second time, with an event in between: it goes on from there.
    const note = '{"jsonrpc":"2.0","method":"notifications/x"}';
    http.last.sent().respond(200, stream).data(`id: p1-1\ndata: ${note}\n\n`).break('ECONNRESET');
    clock.advance(1_000);
    expect(http.last.headers).toMatchObject({ 'last-event-id': 'p1-1' });
    const answer = `{"jsonrpc":"2.0","id":${exchange.id},"result":{"content":[]}}`;
    http.last.sent().respond(200, stream).data(`id: p1-2\ndata: ${answer}\n\n`);
    expect((await exchange.answer).kind).toBe('result');
    expect(http.methods.filter((method) => method === 'tools/call')).toHaveLength(1);
    expect([lost, connection.isLost, clock.pending]).toEqual([[], false, 0]);
  });

  it('is not come back for if it was an error of our own that ended it', async () => {
    const { connection, http, clock } = await legacyServer();
    const exchange = call(connection);
    http.last.sent().respond(200, stream).data(primed).fail(new TypeError('a defect'));
    await expect(exchange.answer).rejects.toMatchObject({ dispatched: 'maybe' });
    expect(clock.pending).toBe(0);
  });

  it('that had no event ids is lost when the connection is cut', async () => {
    const { connection, http, lost } = await legacyServer();
    const exchange = call(connection);
    http.last.sent().respond(200, stream).data('data: {"jsonrpc":').break('ECONNRESET');
    await expect(exchange.answer).rejects.toMatchObject({ dispatched: 'maybe' });
    expect([lost.length, connection.isLost]).toEqual([1, true]);
  });

  it('is abandoned, and may have run, when three attempts in a row have no result', async () => {
    const { connection, http, clock, lost } = await legacyServer();
    const exchange = call(connection);
    http.last.sent().respond(200, stream).data(primed).break('ECONNRESET');
    clock.advance(500);
    http.last.break('ECONNREFUSED');
    clock.advance(2_000);
    http.last.status(503);
    clock.advance(4_000);
    expect([exchange.isSettled, lost.length]).toEqual([false, 0]);
    http.last.break('ECONNREFUSED');
    const fault = await exchange.answer.catch((thrown: unknown) => thrown);
    expect(fault).toMatchObject({ code: 'unavailable', dispatched: 'maybe' });
    expect([lost.length, connection.isLost, clock.pending]).toEqual([1, true, 0]);
  });

  it('is lost with the session, and may still have run, when that is not known any more', async () => {
    const { connection, http, clock, lost } = await legacyServer();
    const exchange = call(connection);
    http.last.sent().respond(200, stream).data(primed).break('ECONNRESET');
    clock.advance(500);
    http.last.status(404);
    await expect(exchange.answer).rejects.toMatchObject({ dispatched: 'maybe' });
    expect([lost.length, connection.isLost]).toEqual([1, true]);
  });

  it('is not asked for without a pause, whatever the server says', async () => {
    const { connection, http, clock } = await legacyServer();
    call(connection);
    http.last.sent().respond(200, stream).data('id: 1\nretry: 0\ndata: \n\n').end();
    const before = http.requests.length;
    for (let ms = 0; ms < 1_000; ms++) {
      clock.advance(1);
      http.last.sent().respond(200, stream).end();
    }
    expect(http.requests.length - before).toBeLessThanOrEqual(20);
  });

  it.each([
    ['is empty', ''],
    ['has a control character', 'a\u0001b'],
    ['is too long for a header', 'x'.repeat(5_000)],
  ])('is lost if the id of its last event %s', async (_name, id) => {
    const { connection, http, lost } = await legacyServer({ 'mcp-session-id': 's-1' }, 100_000);
    const exchange = call(connection);
    http.last.sent().respond(200, stream).data(`id: ${id}\ndata: \n\n`).break('ECONNRESET');
    await expect(exchange.answer).rejects.toMatchObject({ dispatched: 'maybe' });
    expect(lost).toHaveLength(1);
  });

  it('is asked for with the bytes of an id that is not ASCII', async () => {
    const { connection, http, clock } = await legacyServer();
    call(connection);
    http.last.sent().respond(200, stream).data('id: für\ndata: \n\n').break('ECONNRESET');
    clock.advance(1_000);
    const { 'last-event-id': id = '' } = http.last.headers;
    expect(Buffer.from(id, 'latin1').toString('utf8')).toBe('für');
  });

  it('is come back for also if it is the answer to initialize', async () => {
    const world = remoteServer({ modern: false });
    await settled();
    const initialize = world.http.find('initialize');
    const headers = { ...stream, 'mcp-session-id': 's-1' };
    initialize.sent().respond(200, headers).data(primed).end();
    world.clock.advance(500);
    const answer = { jsonrpc: '2.0', id: initialize.body['id'], result: initialized };
    world.http.last.stream().event(answer);
    await settled();
    world.http.find('notifications/initialized').status(202);
    expect((await world.connecting).protocolVersion).toBe(initialized.protocolVersion);
  });
});

describe('a message that wants no answer', () => {
  it.each([
    ['a notification', (connection: Connection) => connection.notify('x', { members: '' })],
    ['an answer of ours', (connection: Connection) => connection.respond('{"id":1,"result":{}}')],
  ])('is given up if the server never takes it: %s', async (_name, send) => {
    const { connection, http, clock, lost } = await legacyServer();
    send(connection);
    const message = http.last.sent();
    await clock.advanceAsync(29_999);
    expect(message.isAborted).toBe(false);
    await clock.advanceAsync(1);
    expect([message.isAborted, clock.pending, lost]).toEqual([true, 0, []]);
  });
});
