// A principal that opens sessions, streams and connections until it is refused, over real HTTP: it is refused
// with 429, by whichever path it comes, and another principal finds room.

import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Authentication, Credential } from '../../src/downstream/http/access/authenticator.ts';
import type { HttpLimits } from '../../src/downstream/http/http-limits.ts';
import { newGateway } from '../support/fake-gateway.ts';
import { legacyHeaders, modernBody, modernHeaders } from '../support/http-front.ts';
import { principalsFront } from '../support/principals-front.ts';
import { text, tool } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';

const scripts = { docs: { tools: [tool('search')], on: { 'tools/call': () => text('found') } } };
const roles = { r: { allow: ['docs/*'] } };

/** The token is the name. */
const authenticator = {
  authenticate({ token }: Credential): Authentication {
    return { principal: { id: `token:${token}`, role: 'r' } };
  },
};

async function world(limits: Partial<HttpLimits>) {
  const made = newGateway(scripts, { settings: { roles } });
  const {
    at,
    port,
    modern,
    signal: over,
    initialize,
  } = await principalsFront(made, { authenticator, limits });
  /** A modern stream that stays open; its status. */
  const listen = async (path: string, token: string, signal = over) => {
    const notifications = { toolsListChanged: true };
    const body = JSON.stringify(modernBody('subscriptions/listen', { notifications }));
    const headers = modernHeaders('subscriptions/listen');
    const { status } = await at(path, token, { method: 'POST', body, headers, signal });
    return status;
  };
  /** The stream of a session, which keeps it in use. */
  const watch = async (path: string, token: string, session: string) => {
    const headers = { ...legacyHeaders(session), accept: 'text/event-stream' };
    return (await at(path, token, { method: 'GET', headers })).status;
  };
  const sse = async (token: string, signal = over) => {
    const headers = { accept: 'text/event-stream' };
    return (await at('/sse', token, { method: 'GET', headers, signal })).status;
  };
  /** A body that is begun and not finished; without a length, all of it but its end has come. */
  const half = (token: string, bytes: number, isDeclared = true) => {
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    const length = isDeclared ? `Content-Length: ${bytes}` : 'Transfer-Encoding: chunked';
    const begun = isDeclared ? '{' : `${bytes.toString(16)}\r\n${' '.repeat(bytes)}\r\n`;
    const type = 'Content-Type: application/json';
    const head = `Host: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\n${type}\r\n${length}`;
    socket.on('error', () => {}).resume();
    socket.write(`POST /mcp HTTP/1.1\r\n${head}\r\n\r\n${begun}`);
    return socket;
  };
  const call = async (token: string) =>
    (await modern('/mcp', token, 'tools/call', { name: 'docs__search' })).status;
  return { listen, initialize, watch, sse, half, call };
}

describe('a principal that takes all it gets', () => {
  it('leaves connections for others, and has one share for all paths #principal-share', async () => {
    const { listen } = await world({ connections: 8 });
    const leaving = new AbortController();
    expect(await listen('/mcp', 'greedy', leaving.signal)).toBe(200);
    for (const path of ['/mcp', '/mcp/s/docs', '/mcp/s/docs', '/mcp/r/r', '/mcp']) {
      expect(await listen(path, 'greedy')).toBe(200);
    }
    for (const path of ['/mcp', '/mcp/s/docs', '/mcp/r/r']) {
      expect(await listen(path, 'greedy')).toBe(429);
    }
    expect(await listen('/mcp', 'modest')).toBe(200);
    leaving.abort();
    await until(async () => (await listen('/mcp', 'greedy')) === 200, 'its place is free again');
    expect(await listen('/mcp', 'greedy')).toBe(429);
  });

  it('leaves sessions for others, also on the transport of 2024 #principal-share', async () => {
    const { initialize, watch, sse } = await world({ sessions: 8 });
    for (const path of ['/mcp', '/mcp/s/docs', '/mcp/r/r', '/mcp']) {
      const { status, session } = await initialize(path, 'greedy');
      expect([status, await watch(path, 'greedy', session)]).toEqual([200, 200]);
    }
    const leaving = new AbortController();
    expect([await sse('greedy', leaving.signal), await sse('greedy')]).toEqual([200, 200]);
    expect(await sse('greedy')).toBe(429);
    expect((await initialize('/mcp', 'greedy')).status).toBe(429);
    expect((await initialize('/mcp/s/docs', 'greedy')).status).toBe(429);
    expect((await initialize('/mcp', 'modest')).status).toBe(200);
    expect(await sse('modest')).toBe(200);
    leaving.abort();
    await until(async () => (await sse('greedy')) === 200, 'its place is free again');
    expect(await sse('greedy')).toBe(429);
  });

  it('loses its own idle sessions first, not those of others #principal-share', async () => {
    const { initialize, watch } = await world({ sessions: 8 });
    const modest = await initialize('/mcp', 'modest');
    for (let count = 0; count < 20; count++) {
      expect((await initialize('/mcp', 'greedy')).status).toBe(200);
      expect((await initialize('/mcp/s/docs', 'grasping')).status).toBe(200);
    }
    expect(await watch('/mcp', 'modest', modest.session)).toBe(200);
  });

  it.each([true, false])(
    'leaves room for the bodies of others, if it finishes none of its own (declared: %s) #principal-share',
    async (isDeclared) => {
      const { half, call } = await world({ bodyBytes: 10_000, bodyBytesOfAll: 40_000 });
      expect(await call('greedy')).toBe(200);
      const bodies = Array.from({ length: 3 }, () => half('greedy', 9_990, isDeclared));
      await until(async () => (await call('greedy')) === 429, 'its share is taken');
      expect(await call('modest')).toBe(200);
      bodies[0]?.destroy();
      await until(async () => (await call('greedy')) === 200, 'its share is free again');
      half('modest', 9_990, isDeclared);
      half('third', 9_990, isDeclared);
      await until(async () => (await call('fourth')) === 503, 'there is no room at all');
    },
  );
});
