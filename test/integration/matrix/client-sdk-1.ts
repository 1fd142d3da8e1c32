// The client of the SDK 1.x, which knows the legacy era only.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ResultSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { Door } from '../../support/gateway.ts';
import {
  abilities,
  Conversation,
  identity,
  type Json,
  type MatrixClient,
  requestTimeoutMs,
} from './client.ts';

export async function connectSdk1(door: Door): Promise<MatrixClient> {
  const conversation = new Conversation();
  const client = new Client(identity, {
    capabilities: { ...abilities, roots: { listChanged: true } },
  });
  client.fallbackNotificationHandler = async (notification) => conversation.heard(notification);
  client.fallbackRequestHandler = (request) => conversation.asked(request);
  for (const schema of [CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema]) {
    client.setRequestHandler(schema, (request) => conversation.asked(request) as never);
  }
  // The SDK's own types do not allow for exactOptionalPropertyTypes.
  await client.connect(transportTo(door) as Transport);

  const request: MatrixClient['request'] = (method, params = {}, { onProgress, signal } = {}) =>
    client.request({ method, params }, ResultSchema, {
      timeout: requestTimeoutMs,
      ...(onProgress && { onprogress: (progress) => onProgress({ ...progress }) }),
      ...(signal && { signal }),
    });
  return {
    era: 'legacy',
    conversation,
    capabilities: () => ({ ...client.getServerCapabilities() }) as Json,
    request,
    notify: (method, params) => client.notification({ method, params } as never),
    toolNames: async () => {
      const names: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await client.listTools(cursor === undefined ? {} : { cursor });
        names.push(...page.tools.map(({ name }) => name));
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      return names;
    },
    setLogLevel: async (level) => void (await request('logging/setLevel', { level })),
    subscribe: async (uri) => {
      await client.subscribeResource({ uri });
      return {
        [Symbol.asyncDispose]: async () => void (await client.unsubscribeResource({ uri })),
      };
    },
    // It hears of them without being asked.
    watchLists: async () => ({ [Symbol.asyncDispose]: async () => {} }),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

function transportTo(door: Door) {
  if (door.kind === 'http') {
    const requestInit = { headers: { ...door.headers } };
    return new StreamableHTTPClientTransport(new URL(door.url), { requestInit });
  }
  const { command, args, env } = door;
  return new StdioClientTransport({ command, args: [...args], env: { ...env } });
}
