import { describe, expect, it } from 'vitest';
import { modernServer } from '../../../test/support/remote-server.ts';
import type { Connection } from '../connection.ts';

function call(connection: Connection) {
  const exchange = connection.request('tools/call', { members: '"name":"read","arguments":{}' });
  exchange.answer.catch(() => {});
  return exchange;
}

describe('an answer that is none', () => {
  it.each([
    [401, 'auth_required', 'no'],
    [403, 'auth_required', 'maybe'],
    [404, 'unavailable', 'maybe'],
    [405, 'unavailable', 'no'],
    [413, 'invalid_request', 'no'],
    [429, 'unavailable', 'no'],
    [500, 'unavailable', 'maybe'],
    [503, 'unavailable', 'maybe'],
    [307, 'protocol_violation', 'maybe'],
  ])(
    'by HTTP %i is %s, dispatched %s, and the connection lives',
    async (status, code, dispatched) => {
      const { connection, http, lost } = await modernServer();
      const exchange = call(connection);
      http.last.status(status, { 'retry-after': '2' });
      await expect(exchange.answer).rejects.toMatchObject({ code, dispatched });
      expect([lost.length, connection.isLost]).toEqual([0, false]);
    },
  );

  it('says when to come back', async () => {
    const { connection, http } = await modernServer();
    const exchange = call(connection);
    http.last.status(429, { 'retry-after': '2' });
    await expect(exchange.answer).rejects.toMatchObject({ record: { retryAfterMs: 2_000 } });
  });

  it('is one after all when a refusal carries the answer to the request (404 and -32601)', async () => {
    const { connection, http } = await modernServer();
    const exchange = call(connection);
    const error = { code: -32601, message: 'no such method' };
    http.last.json({ jsonrpc: '2.0', id: exchange.id, error }, { status: 404 });
    expect((await exchange.answer).kind).toBe('error');
  });

  it.each([401, 405, 413, 415, 421, 429])(
    'is none either when the request was refused unread (%i), whatever the body says',
    async (status) => {
      const { connection, http, noise } = await modernServer();
      const exchange = call(connection);
      const error = { code: -32000, message: 'go away' };
      http.last.json({ jsonrpc: '2.0', id: exchange.id, error }, { status });
      await expect(exchange.answer).rejects.toMatchObject({ dispatched: 'no' });
      expect(noise).toEqual([]);
    },
  );

  it('is the refusal when its body is a page for people', async () => {
    const { connection, http, noise } = await modernServer();
    const exchange = call(connection);
    http.last.json('<h1>Bad gateway</h1>', { status: 502 });
    await expect(exchange.answer).rejects.toThrow(
      'answers 502: the server there has an internal error',
    );
    expect(noise).toEqual([]);
  });

  it.each([
    ['something that is not MCP', '{"hello":1}'],
    ['something that is not JSON', '<html>'],
    ['a batch', '[{"jsonrpc":"2.0","id":2,"result":{}}]'],
  ])('is a violation when it is %s, and the call did arrive', async (_name, body) => {
    const { connection, http } = await modernServer();
    const exchange = call(connection);
    http.last.json(body);
    await expect(exchange.answer).rejects.toMatchObject({
      code: 'protocol_violation',
      dispatched: 'yes',
    });
  });

  it.each([
    ['a body of another type', { 'content-type': 'text/html' }],
    ['a body without a type', {}],
    ['a stream that ends first', { 'content-type': 'text/event-stream' }],
    ['an empty body', { 'content-type': 'application/json' }],
  ])('is unknown after %s', async (_name, headers) => {
    const { connection, http, lost } = await modernServer();
    const exchange = call(connection);
    http.last
      .sent()
      .respond(200, headers as Record<string, string>)
      .end();
    await expect(exchange.answer).rejects.toMatchObject({
      code: 'unavailable',
      dispatched: 'maybe',
    });
    expect(lost).toEqual([]);
  });

  it.each(['application/json', 'text/event-stream'])(
    'is too large as %s: the call did run, and the rest is not read',
    async (type) => {
      const { connection, http } = await modernServer();
      const exchange = call(connection);
      http.last.sent().respond(200, { 'content-type': type }).data('data: ');
      for (let chunk = 0; chunk < 5; chunk++) http.last.data('x'.repeat(500));
      await expect(exchange.answer).rejects.toMatchObject({
        code: 'frame_too_large',
        dispatched: 'yes',
      });
      expect(http.last.isAborted).toBe(true);
    },
  );

  it('stops a stream that has sent something which is not MCP', async () => {
    const { connection, http } = await modernServer();
    const exchange = call(connection);
    http.last.stream().data('data: {"hello":1}\n\n');
    await expect(exchange.answer).rejects.toMatchObject({ code: 'protocol_violation' });
    expect(http.last.isAborted).toBe(true);
  });
});
