// The HTTP+SSE transport of 2024-11-05, by hand and with the client of the 1.x SDK.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { note, result } from '../support/fake-front.ts';
import { httpFront } from '../support/http-front.ts';
import { until } from '../support/until.ts';

const json = { 'content-type': 'application/json' };
const request = (method: string, id: unknown = 1) => ({ jsonrpc: '2.0', id, method });

async function opened(options: Parameters<typeof httpFront>[0] = {}) {
  const gate = await httpFront(options);
  const stream = await gate.stream({
    method: 'GET',
    path: '/sse',
    headers: { accept: 'text/event-stream' },
  });
  const endpoint = await stream.next();
  const path = endpoint.data ?? '';
  return {
    gate,
    stream,
    endpoint,
    post: (body: unknown) => gate.ask({ path, headers: json, body }),
  };
}

describe('the transport of 2024', () => {
  it('tells where to post first of all', async () => {
    const { endpoint, stream } = await opened();
    expect(endpoint.event).toBe('endpoint');
    expect(endpoint.data).toMatch(/^\/messages\?sessionId=[A-Za-z0-9_-]{24}$/);
    expect(stream.response.headers['content-type']).toBe('text/event-stream');
  });

  it('answers on its stream', async () => {
    const { gate, stream, post } = await opened();
    expect(await post(request('tools/list', 'a'))).toMatchObject({ status: 202 });
    const { reply } = await gate.arrived('tools/list');
    reply.send(note('notifications/progress'));
    gate.front.session.outlet.send(note('notifications/message'));
    reply.answer(result('a'));
    expect(await stream.message()).toMatchObject({ method: 'notifications/progress' });
    expect(await stream.message()).toMatchObject({ method: 'notifications/message' });
    expect(await stream.message()).toMatchObject({ id: 'a', result: {} });
  });

  it('ends with its stream', async () => {
    const { gate, stream, post } = await opened();
    stream.drop();
    await until(() => gate.front.session.isClosed, 'the end of the session');
    expect((await post(request('ping'))).status).toBe(404);
  });

  it('refuses what is no message, and a session that is not there', async () => {
    const { gate, post } = await opened();
    expect(await post('{')).toMatchObject({ status: 400, json: { error: { code: -32700 } } });
    expect(await post([request('ping')])).toMatchObject({ status: 400 });
    for (const path of ['/messages', '/messages?sessionId=x', '/messages?sessionid=']) {
      const answer = await gate.ask({ path, headers: json, body: request('ping') });
      expect(answer.status, path).toBe(404);
    }
  });

  it('belongs to no other client', async () => {
    const principals = ['a', 'b'].map((id) => ({ id: `token:${id}`, role: null }));
    const tokens = {
      verify: (bearer: string) => principals.find(({ id }) => id.endsWith(bearer)),
      hasExpired: () => false,
    };
    const config = { listen: '127.0.0.1:0', allowedHosts: [], allowedOrigins: [] };
    const gate = await httpFront({ tokens, config: { ...config, auth: 'token' } });
    const as = (who: string) => ({ ...json, authorization: `Bearer ${who}` });
    const stream = await gate.stream({ method: 'GET', path: '/sse', headers: as('a') });
    const path = (await stream.next()).data ?? '';
    const post = (who: string) => gate.ask({ path, headers: as(who), body: request('ping') });
    expect((await post('b')).status).toBe(404);
    expect((await post('a')).status).toBe(202);
    expect(gate.front.asked).toHaveLength(1);
  });

  it('counts against the limit of sessions', async () => {
    const { gate } = await opened({ limits: { sessions: 1 } });
    const answer = await gate.ask({ method: 'GET', path: '/sse' });
    expect(answer.status).toBe(503);
  });

  it('serves the client of the official SDK', async () => {
    const gate = await httpFront();
    gate.front.onAsked = ({ message, reply }) => reply.answer(result(message.id, { tools: [] }));
    const url = new URL('/sse', gate.http.url);
    const client = new Client({ name: 'old', version: '1' });
    onTestFinished(() => client.close());
    await client.connect(new SSEClientTransport(url));
    expect(await client.listTools()).toEqual({ tools: [] });
    await client.close();
    await until(() => gate.front.session.isClosed, 'the end of the session');
  });
});
