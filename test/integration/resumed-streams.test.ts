// Streams of a legacy server that are cut off and taken up again, with a server and an event store
// that nobody here wrote: those of the official SDK. A small relay between the two cuts connections.

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createRelay, type Socket } from 'node:net';
import { InMemoryEventStore } from '@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/system-clock.ts';
import type { Connection } from '../../src/upstream/connection.ts';
import { connectHttp } from '../../src/upstream/http/connect-http.ts';
import { createHttpClient } from '../../src/upstream/http/http-client.ts';
import type { Message } from '../../src/wire/scan.ts';
import { until } from '../support/until.ts';

const cleanups: (() => Promise<unknown> | unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A server of the SDK with one tool, `work`, that ends when it is told to. */
async function sdkServer(eventStore = new InMemoryEventStore()) {
  const server = new McpServer(
    { name: 'sdk', version: '1' },
    { capabilities: { logging: {}, tools: { listChanged: true } } },
  );
  let runs = 0;
  let finish = () => {};
  server.registerTool('work', { description: 'works' }, async (extra) => {
    runs += 1;
    const params = { level: 'info', data: 'at work' } as const;
    await extra.sendNotification({ method: 'notifications/message', params });
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    return { content: [{ type: 'text', text: 'done' }] };
  });
  const sessionIdGenerator = () => randomUUID();
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator, eventStore });
  await server.connect(transport as Parameters<typeof server.connect>[0]);
  const resumed: string[] = [];
  const http = createServer((request, response) => {
    const id = request.headers['last-event-id'];
    if (id !== undefined) resumed.push(String(id));
    void transport.handleRequest(request, response);
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  cleanups.push(() => {
    http.closeAllConnections();
    return new Promise((resolve) => http.close(resolve));
  });
  return {
    server,
    resumed,
    port: (http.address() as AddressInfo).port,
    runs: () => runs,
    finish: () => finish(),
  };
}

/** Relays TCP to the port; `cut` resets every connection that is open. */
async function cuttingRelay(port: number) {
  const sockets = new Set<Socket>();
  const relay = createRelay((near) => {
    const far = connect(port, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    }
    near.pipe(far).pipe(near);
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const cut = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  cleanups.push(() => {
    cut();
    return new Promise((resolve) => relay.close(resolve));
  });
  const { port: relayPort } = relay.address() as AddressInfo;
  return { url: new URL(`http://127.0.0.1:${relayPort}/mcp`), cut };
}

async function connected(url: URL) {
  const notifications: Message[] = [];
  const lost: unknown[] = [];
  const http = createHttpClient();
  const connection: Connection = await connectHttp(
    {
      ...{ server: 'sdk', url, headers: {}, frameBytes: 1_000_000, http },
      ...{ clock: systemClock, identity: { name: 'test', version: '0' }, capabilities: '{}' },
      first: 'legacy',
      startTimeoutMs: 60_000,
      eras: {
        known: async () => ({}),
        learn: () => {},
        notInitialized: () => {},
        kept: async () => {},
      },
    },
    1,
    new AbortController().signal,
    {
      lost: (cause) => lost.push(cause),
      notification: (message) => notifications.push(message),
      ...{ ended: () => {}, lastWords: () => {}, asked: () => {}, noise: () => {} },
      missed: () => {},
    },
  );
  cleanups.push(async () => {
    await connection.close('end');
    await http[Symbol.asyncDispose]();
  });
  return { connection, notifications, lost };
}

describe('the streams of an SDK server with an event store', () => {
  it('are resumed when they are cut in the middle of an answer; the call runs once #never-twice #resumed-streams', async () => {
    const sdk = await sdkServer();
    const { url, cut } = await cuttingRelay(sdk.port);
    const { connection, notifications, lost } = await connected(url);
    const exchange = connection.request('tools/call', { members: '"name":"work","arguments":{}' });
    const isAtWork = () => notifications.some(({ method }) => method === 'notifications/message');
    await until(isAtWork, 'the call has begun to answer');
    cut();
    sdk.finish();
    const answer = await exchange.answer;
    expect(answer.kind).toBe('result');
    expect(answer.bytes.toString()).toContain('done');
    expect([sdk.runs(), lost, connection.isLost]).toEqual([1, [], false]);
    expect(sdk.resumed.length).toBeGreaterThan(0);
  });

  it('bring what was said unasked while they were cut #resumed-streams', async () => {
    const { sdk, cut, heard, lost } = await listening(new FullEventStore());
    const before = heard();
    cut();
    sdk.server.sendToolListChanged();
    await until(() => heard() > before, 'what was said meanwhile is heard');
    expect([sdk.resumed.length > 0, lost]).toEqual([true, []]);
  });

  it('are heard again after a cut even if the store cannot resume them #resumed-streams', async () => {
    // This one finds no stream for the ids of what is said unasked, and yet answers with 200.
    const { sdk, cut, heard, lost } = await listening(new InMemoryEventStore());
    const before = heard();
    cut();
    await until(() => {
      sdk.server.sendToolListChanged();
      return heard() > before;
    }, 'what is said now is heard');
    expect([sdk.resumed.length > 0, lost]).toEqual([true, []]);
  });
});

/** Connected through a relay, with the stream open on which it hears what nobody asked. */
async function listening(eventStore: InMemoryEventStore) {
  const sdk = await sdkServer(eventStore);
  const { url, cut } = await cuttingRelay(sdk.port);
  const { notifications, lost } = await connected(url);
  const heard = () => notifications.filter(({ method }) => method?.endsWith('changed')).length;
  // The stream is opened beside the first requests: what is said before that is said to nobody.
  await until(() => {
    sdk.server.sendToolListChanged();
    return heard() > 0;
  }, 'the stream stands');
  return { sdk, cut, heard, lost };
}

/** The SDK's example, with the stream of an id looked up where it was stored. */
class FullEventStore extends InMemoryEventStore {
  readonly #events: { readonly id: string; readonly stream: string; readonly message: unknown }[] =
    [];

  override async storeEvent(stream: string, message: never): Promise<string> {
    const id = `event-${this.#events.length}`;
    this.#events.push({ id, stream, message });
    return id;
  }

  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    return this.#events.find((event) => event.id === id)?.stream;
  }

  override async replayEventsAfter(
    lastId: string,
    { send }: { send: (id: string, message: never) => Promise<void> },
  ): Promise<string> {
    const at = this.#events.findIndex(({ id }) => id === lastId);
    const stream = this.#events[at]?.stream ?? '';
    for (const event of this.#events.slice(at + 1)) {
      if (event.stream === stream) await send(event.id, event.message as never);
    }
    return stream;
  }
}
