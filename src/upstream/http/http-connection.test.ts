import { describe, expect, it } from 'vitest';
import { settled } from '../../../test/support/manual-clock.ts';
import { modernServer } from '../../../test/support/remote-server.ts';
import { Fault } from '../../kernel/fault.ts';
import type { Connection } from '../connection.ts';

const members = '"name":"read","arguments":{"n":9007199254740993}';

function call(connection: Connection, progressed?: (params: Buffer) => void) {
  const options = progressed && { progress: { progressed } };
  const exchange = connection.request('tools/call', { members }, options);
  exchange.answer.catch(() => {});
  return exchange;
}

describe('a shortage of our own', () => {
  it('is `overloaded`, was never sent, and costs the connection nothing #restart-budget', async () => {
    const { connection, http, lost } = await modernServer();
    const exchange = call(connection);
    http.last.break('EMFILE');
    await expect(exchange.answer).rejects.toMatchObject({
      code: 'overloaded',
      message: expect.stringContaining('EMFILE'),
      record: { dispatched: 'no', retryable: true },
    });
    expect([connection.isLost, lost.length]).toEqual([false, 0]);
    const again = call(connection);
    http.last.result({ ok: true });
    expect((await again.answer).kind).toBe('result');
  });

  it('after it was sent says nothing about what the server did', async () => {
    const { connection, http } = await modernServer();
    const exchange = call(connection);
    http.last.sent().break('ENOBUFS');
    await expect(exchange.answer).rejects.toMatchObject({
      code: 'unavailable',
      record: { dispatched: 'maybe' },
    });
  });
});

describe('a modern request', () => {
  it('is independent: version, identity and method in every one, and no session', async () => {
    const { connection, http } = await modernServer();
    const options = { headers: { 'mcp-name': 'read' } };
    connection.request('tools/call', { members }, options).answer.catch(() => {});
    const { request, headers, body } = http.last;
    expect(request.method).toBe('POST');
    expect(request.url.href).toBe('https://docs.example/mcp?v=1');
    expect(headers).toEqual({
      authorization: 'Bearer secret',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'read',
    });
    expect(String(request.body)).toContain(members);
    expect(body['params']).toMatchObject({
      _meta: { 'io.modelcontextprotocol/clientInfo': { name: 'holdfast' } },
    });
    expect(http.methods).toEqual(['server/discover', 'tools/call']);
  });

  it('is answered by JSON, which crosses as it came', async () => {
    const { connection, http } = await modernServer();
    const exchange = call(connection);
    http.last.json(`{"jsonrpc":"2.0","id":${exchange.id},"result":{"n":1.0}}`);
    expect((await exchange.answer).bytes.toString()).toContain('"n":1.0');
  });

  it('is answered by an event, after progress and notifications; then the stream is let go', async () => {
    const { connection, http, notifications } = await modernServer();
    const heard: string[] = [];
    const exchange = call(connection, (params) => heard.push(params.toString()));
    const params = { progressToken: exchange.id, progress: 1 };
    http.last.stream();
    http.last.event({ jsonrpc: '2.0', method: 'notifications/progress', params });
    http.last.event({ jsonrpc: '2.0', method: 'notifications/message', params: {} });
    expect(exchange.dispatched).toBe('yes');
    http.last.event({ jsonrpc: '2.0', id: exchange.id, result: { ok: true } });
    expect((await exchange.answer).kind).toBe('result');
    expect([heard.length, notifications.length]).toEqual([1, 1]);
    expect(http.last.isAborted).toBe(true);
  });

  it('is ours until a socket takes it', async () => {
    const { connection, http } = await modernServer();
    const exchange = call(connection);
    expect(exchange.dispatched).toBe('no');
    http.last.sent();
    expect(exchange.dispatched).toBe('maybe');
  });

  it('is cancelled by closing its stream, and by nothing else', async () => {
    const { connection, http } = await modernServer();
    const exchange = call(connection);
    http.last.stream();
    exchange.cancel(new Fault('cancelled', 'enough'));
    await expect(exchange.answer).rejects.toMatchObject({ code: 'cancelled' });
    expect(http.last.isAborted).toBe(true);
    expect(http.methods).toEqual(['server/discover', 'tools/call']);
  });

  it('is answered only on its own stream: the id of another is noise', async () => {
    const { connection, http, noise } = await modernServer();
    const [one, two] = [call(connection), call(connection)];
    http.last.stream().event({ jsonrpc: '2.0', id: one.id, result: { stolen: true } });
    expect([one.isSettled, two.isSettled, noise]).toEqual([false, false, ['unknown-id']]);
    http.last.event({ jsonrpc: '2.0', id: two.id, result: {} });
    expect((await two.answer).kind).toBe('result');
  });

  it('is not answered by a request of the server, which cannot be answered', async () => {
    const { connection, http, noise } = await modernServer();
    const exchange = call(connection);
    http.last.stream().event({ jsonrpc: '2.0', id: exchange.id, method: 'roots/list' });
    expect([exchange.isSettled, noise]).toEqual([false, ['unanswerable-request']]);
    expect(http.methods).toHaveLength(2);
  });
});

describe('a network that breaks', () => {
  it('before the request was handed to a socket has taken nothing', async () => {
    const { connection, http, lost } = await modernServer();
    const exchange = call(connection);
    http.last.break('ECONNREFUSED');
    await expect(exchange.answer).rejects.toMatchObject({
      code: 'unavailable',
      dispatched: 'no',
      message: expect.stringContaining('ECONNREFUSED'),
    });
    expect([lost.length, connection.isLost]).toEqual([1, true]);
  });

  it('after that may have delivered it', async () => {
    const { connection, http } = await modernServer();
    const exchange = call(connection);
    http.last.sent().break('ECONNRESET');
    await expect(exchange.answer).rejects.toMatchObject({
      code: 'unavailable',
      dispatched: 'maybe',
    });
  });

  it('retires the connection once, but not the calls that have sockets of their own', async () => {
    const { connection, http, lost } = await modernServer();
    const [one, two, three] = [call(connection), call(connection), call(connection)];
    const [, first, second, third] = http.requests;
    first?.sent().break('ECONNRESET');
    third?.sent().break('ECONNRESET');
    await expect(one.answer).rejects.toMatchObject({ record: { generation: 1 } });
    await expect(three.answer).rejects.toThrow();
    const closing = connection.close('lost');
    second?.stream().event({ jsonrpc: '2.0', id: two.id, result: {} });
    expect((await two.answer).kind).toBe('result');
    expect(await closing).toBe(0);
    expect(lost).toHaveLength(1);
  });

  it('leaves a connection that takes no new request', async () => {
    const { connection, http } = await modernServer();
    call(connection);
    http.last.break('ECONNRESET');
    const late = call(connection);
    await expect(late.answer).rejects.toMatchObject({ code: 'unavailable', dispatched: 'no' });
    expect(http.methods).toHaveLength(2);
  });
});

describe('a probe', () => {
  it('is answered by anything that is an answer', async () => {
    const { connection, http } = await modernServer();
    const probing = connection.probe();
    expect(http.last.method).toBe('server/discover');
    http.last.json({
      jsonrpc: '2.0',
      id: http.last.body['id'],
      error: { code: -32603, message: '' },
    });
    expect(await probing).toBe(true);
  });

  it('fails after five seconds of silence, and leaves no timer', async () => {
    const { connection, http, clock } = await modernServer();
    const probing = connection.probe();
    await clock.advanceAsync(5_000);
    expect(await probing).toBe(false);
    expect([http.last.isAborted, clock.pending]).toEqual([true, 0]);
  });
});

describe('closing', () => {
  it.each(['stop', 'hung', 'end'] as const)('for %s ends what runs at once', async (reason) => {
    const { connection, http } = await modernServer();
    const exchange = call(connection);
    http.last.sent();
    expect(await connection.close(reason)).toBe(0);
    await expect(exchange.answer).rejects.toMatchObject({
      code: 'unavailable',
      dispatched: 'maybe',
    });
    expect(http.last.isAborted).toBe(true);
    await expect(call(connection).answer).rejects.toMatchObject({ dispatched: 'no' });
  });

  it.each(['reload', 'idle'] as const)('for %s lets what runs finish', async (reason) => {
    const { connection, http, clock } = await modernServer();
    const exchange = call(connection);
    const post = http.last;
    const closing = connection.close(reason);
    // It takes nothing new meanwhile: the next generation will.
    await expect(call(connection).answer).rejects.toMatchObject({ dispatched: 'no' });
    expect(connection.isLost).toBe(true);
    await clock.advanceAsync(4_000);
    post.result({ ok: true });
    expect((await exchange.answer).kind).toBe('result');
    await closing;
    expect(clock.pending).toBe(0);
  });

  it('for reload waits five seconds at most', async () => {
    const { connection, http, clock } = await modernServer();
    const exchange = call(connection);
    http.last.sent();
    const closing = connection.close('reload');
    await clock.advanceAsync(5_000);
    await closing;
    await expect(exchange.answer).rejects.toMatchObject({ dispatched: 'maybe' });
  });

  it('of a lost connection ends its subscriptions when its last call has ended', async () => {
    const { connection, http } = await modernServer();
    const listen = connection.request(
      'subscriptions/listen',
      { members: '' },
      { background: true },
    );
    listen.answer.catch(() => {});
    const exchange = call(connection);
    const closing = connection.close('lost');
    await settled();
    expect(http.find('subscriptions/listen').isAborted).toBe(false);
    http.find('tools/call').result({});
    await exchange.answer;
    await closing;
    expect(http.find('subscriptions/listen').isAborted).toBe(true);
  });

  it('for good ends also the calls that a lost connection still carries', async () => {
    const { connection, http } = await modernServer();
    const exchange = call(connection);
    http.last.sent();
    const closing = connection.close('lost');
    expect(await connection.close('end')).toBe(0);
    await expect(exchange.answer).rejects.toMatchObject({ dispatched: 'maybe' });
    expect(await closing).toBe(0);
  });
});
