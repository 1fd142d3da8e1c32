// Legacy sessions over HTTP outlive the gateway: a client that never begins a new session by itself goes
// on after a restart, with its log level and what it watches. Only its holder can, and not after its end.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, it } from 'vitest';
import { GatewayHome, type HomeConfig, type Served } from '../support/gateway-home.ts';
import { HttpClient, LegacyClient } from '../support/gateway-http-client.ts';
import { legacyHeaders } from '../support/http-front.ts';
import { until } from '../support/until.ts';

const main = fileURLToPath(new URL('../fixtures/servers/watched/main.mjs', import.meta.url));
const mcpServers = { notes: { command: process.execPath, args: [main] } };

const homeWith = (config: HomeConfig = {}) => GatewayHome.create({ mcpServers, ...config });

async function end(served: Served, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  process.kill(served.pid, signal);
  await served.ended;
}

/** The client of the official SDK, which knows nothing of restarts. */
async function sdkClient(url: string): Promise<Client> {
  const client = new Client({ name: 'sdk', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(url));
  await client.connect(transport as Parameters<Client['connect']>[0]);
  return client;
}

const touch = { name: 'notes__touch', arguments: {} };

const legacy = (id: number, method: string, params: object = {}) => ({
  body: { jsonrpc: '2.0', id, method, params },
});

describe('a session of an SDK 1.x client', () => {
  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'goes on after %s and a new start #kept-sessions',
    async (signal) => {
      await using home = await homeWith();
      const first = await home.serve();
      const client = await sdkClient(first.url);
      expect(await client.callTool(touch)).toMatchObject({ content: [{ type: 'text' }] });
      await end(first, signal);
      await using second = await home.serve(first);
      expect(await client.callTool(touch)).toMatchObject({ content: [{ type: 'text' }] });
      await end(second, signal);
      await using _third = await home.serve(first);
      expect(await client.callTool(touch)).toMatchObject({ content: [{ type: 'text' }] });
      await client.close();
    },
  );
});

describe('a session that is begun again', () => {
  it('has its log level and what it watches, also after a second kill #kept-sessions', async () => {
    await using home = await homeWith();
    const first = await home.serve();
    using client = new HttpClient(first.url);
    const { id } = await client.session();
    const headers = legacyHeaders(id);
    const ask = (number: number, method: string, params: object = {}) =>
      client.ask({ headers, ...legacy(number, method, params) });
    expect((await ask(1, 'logging/setLevel', { level: 'error' })).json.result).toEqual({});
    const { json: listed } = await ask(2, 'resources/list');
    const { uri } = listed.result.resources[0];
    expect((await ask(3, 'resources/subscribe', { uri })).json.result).toEqual({});
    let served = first;
    for (let round = 0; round < 3; round += 1) {
      if (round > 0) {
        await end(served, 'SIGKILL');
        served = await home.serve(first);
      }
      const stream = await client.open({ method: 'GET', headers });
      expect(stream.response.statusCode).toBe(200);
      await until(async () => {
        const { json } = await ask(10, 'tools/call', touch);
        return JSON.stringify(json).includes('"watched, level error');
      }, 'the server was told both');
      const heard = (method: string) => stream.events.some(({ data }) => data?.includes(method));
      await until(() => heard('notifications/resources/updated'), 'the client hears of the change');
      if (round > 0) expect(heard('notifications/tools/list_changed')).toBe(true);
    }
    await served.stop();
  });

  it('is told of every resource that it watches, up to the most that it may #kept-sessions', async () => {
    const most = 1_000;
    const args = [main, String(most)];
    await using home = await homeWith({
      mcpServers: { notes: { command: process.execPath, args } },
    });
    const first = await home.serve();
    using client = new HttpClient(first.url);
    const { id } = await client.session();
    const headers = legacyHeaders(id);
    const ask = (number: number, method: string, params: object = {}) =>
      client.ask({ headers, ...legacy(number, method, params) });
    const watch = (number: number) =>
      ask(number, 'resources/subscribe', { uri: `note:///${number}` });
    const numbers = Array.from({ length: most }, (_, number) => number);
    for (const number of numbers) {
      const { json } = await watch(number);
      if (json.result === undefined) throw new Error(JSON.stringify(json));
    }
    const { error } = (await ask(1, 'resources/subscribe', { uri: 'note:///one' })).json;
    expect(error.message).toContain('at most 1000 resources');
    await end(first, 'SIGKILL');
    await using _second = await home.serve(first);
    await until(async () => {
      const { json } = await ask(2, 'tools/call', touch);
      return JSON.stringify(json).includes(`${most} in all`);
    }, 'all are watched again');
    const stream = await client.open({ method: 'GET', headers });
    const told = () =>
      stream.events.flatMap(({ data }) => /"uri":"note:\/\/\/(\d+)"/.exec(data ?? '')?.[1] ?? []);
    await until(() => new Set(told()).size === most, 'it is told of all of them');
  });

  it('has no events of the time before: such an id names nothing #kept-sessions', async () => {
    await using home = await homeWith();
    const first = await home.serve();
    using client = new HttpClient(first.url);
    const { id } = await client.session();
    const headers = legacyHeaders(id);
    const before = await client.open({ method: 'GET', headers });
    await until(() => before.events.some((event) => event.id !== undefined), 'an event with an id');
    const lastEventId = before.events.find((event) => event.id !== undefined)?.id ?? '';
    await end(first, 'SIGKILL');
    await using _second = await home.serve(first);
    const resume = (event: string) =>
      client.open({ method: 'GET', headers: { ...headers, 'last-event-id': event } });
    const listening = await resume(lastEventId);
    expect(listening.response.statusCode).toBe(200);
    await until(() => listening.events.some((event) => event.id !== undefined), 'a new id');
    expect(listening.events.some((event) => event.id === lastEventId)).toBe(false);
    expect((await resume(lastEventId.replace(/^g/, 'p'))).response.statusCode).toBe(400);
  });
});

describe('a session that is not begun again', () => {
  it('was ended by its client #kept-sessions', async () => {
    await using home = await homeWith();
    const first = await home.serve();
    using client = new HttpClient(first.url);
    const { id } = await client.session();
    const headers = legacyHeaders(id);
    expect((await client.ask({ method: 'DELETE', headers })).status).toBe(204);
    await end(first, 'SIGKILL');
    await using _second = await home.serve(first);
    expect((await client.ask({ headers, ...legacy(1, 'tools/list') })).status).toBe(404);
  });

  it('is ended by the first of many requests after a restart: all are answered #kept-sessions', async () => {
    await using home = await homeWith();
    const first = await home.serve();
    using client = new HttpClient(first.url);
    const { id } = await client.session();
    const headers = legacyHeaders(id);
    await end(first, 'SIGKILL');
    await using _second = await home.serve(first);
    const asked = Array.from({ length: 12 }, (_, number) =>
      number === 3
        ? client.ask({ method: 'DELETE', headers })
        : client.ask({ headers, ...legacy(number, 'tools/call', touch) }),
    );
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.filter((status) => ![200, 204, 404].includes(status))).toEqual([]);
    expect((await client.ask({ headers, ...legacy(99, 'tools/list') })).status).toBe(404);
  });

  it('is that of somebody without the token, who is told nothing #kept-sessions', async () => {
    await using home = await homeWith({ http: { auth: 'token' } });
    const first = await home.serve();
    const authorization = `Bearer ${first.token}`;
    using client = new HttpClient(first.url, { authorization });
    const session = await client.session();
    expect(session).toBeInstanceOf(LegacyClient);
    const headers = legacyHeaders(session.id);
    await end(first, 'SIGKILL');
    await using _second = await home.serve(first);
    using stranger = new HttpClient(first.url);
    expect((await stranger.ask({ headers, ...legacy(1, 'tools/list') })).status).toBe(401);
    expect((await client.ask({ headers, ...legacy(2, 'tools/list') })).status).toBe(200);
    const other = legacyHeaders(`${session.id}x`);
    expect((await client.ask({ headers: other, ...legacy(3, 'tools/list') })).status).toBe(404);
  });

  it('would be too large to be stored: its initialize is refused, and so is such a subscription #kept-sessions', async () => {
    await using home = await homeWith();
    await using served = await home.serve();
    using client = new HttpClient(served.url);
    const clientInfo = { name: 'x'.repeat(65_536), version: '1' };
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
    const refused = await client.ask({
      headers: legacyHeaders(),
      ...legacy(1, 'initialize', params),
    });
    expect([refused.status, refused.headers['mcp-session-id']]).toEqual([400, undefined]);
    expect(refused.json.error.message).toMatch(
      /parameters of initialize have \d+ bytes, and at most 65536/,
    );
    const { id } = await client.session();
    const subscribing = legacy(2, 'resources/subscribe', { uri: `note:///${clientInfo.name}` });
    const { json } = await client.ask({ headers: legacyHeaders(id), ...subscribing });
    expect([json.id, json.error.code]).toEqual([2, -32602]);
  });

  it('was of a gateway without a database #kept-sessions', async () => {
    await using home = await homeWith({ store: 'memory' });
    const first = await home.serve();
    using client = new HttpClient(first.url);
    const { id } = await client.session();
    const headers = legacyHeaders(id);
    await end(first, 'SIGTERM');
    await using _second = await home.serve(first);
    expect((await client.ask({ headers, ...legacy(1, 'tools/list') })).status).toBe(404);
    expect(existsSync(join(home.state, 'store', 'sessions'))).toBe(false);
  });
});
