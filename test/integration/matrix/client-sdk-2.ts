// The client of the SDK 2.x, pinned to either era.

import {
  Client,
  type StandardSchemaV1,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { Era } from '../../../src/wire/eras.ts';
import type { Door } from '../../support/gateway.ts';
import {
  abilities,
  Conversation,
  identity,
  type Json,
  type MatrixClient,
  requestTimeoutMs,
} from './client.ts';

const anything: StandardSchemaV1<unknown, Json> = {
  '~standard': { version: 1, vendor: 'matrix', validate: (value) => ({ value: value as Json }) },
};

const logLevelKey = 'io.modelcontextprotocol/logLevel';

export async function connectSdk2(door: Door, era: Era): Promise<MatrixClient> {
  const conversation = new Conversation();
  const client = new Client(identity, {
    capabilities: { ...abilities, roots: era === 'legacy' ? { listChanged: true } : {} },
    versionNegotiation: { mode: era === 'legacy' ? 'legacy' : { pin: '2026-07-28' } },
  });
  client.fallbackNotificationHandler = async (notification) => conversation.heard(notification);
  client.fallbackRequestHandler = (request) => conversation.asked(request);
  for (const method of ['sampling/createMessage', 'elicitation/create', 'roots/list'] as const) {
    client.setRequestHandler(method, (request) => conversation.asked(request as never) as never);
  }
  await client.connect(transportTo(door));

  let logLevel: string | undefined;
  const request: MatrixClient['request'] = (method, params = {}, { onProgress, signal } = {}) => {
    const _meta = { ...(params['_meta'] as Json), [logLevelKey]: logLevel };
    return client.request(
      { method, params: logLevel === undefined ? params : { ...params, _meta } },
      anything,
      {
        timeout: requestTimeoutMs,
        ...(onProgress && { onprogress: (progress) => onProgress({ ...progress }) }),
        ...(signal && { signal }),
      },
    );
  };
  const listen = async (filter: Parameters<Client['listen']>[0]): Promise<AsyncDisposable> => {
    const subscription = await client.listen(filter, { timeout: requestTimeoutMs });
    return { [Symbol.asyncDispose]: () => subscription.close() };
  };
  return {
    era,
    conversation,
    capabilities: () => ({ ...client.getServerCapabilities() }) as Json,
    request,
    notify: (method, params) => client.notification({ method, params }),
    toolNames: async () => {
      const { tools } = await client.listTools(undefined, { cacheMode: 'bypass' });
      return tools.map(({ name }) => name);
    },
    setLogLevel: async (level) => {
      if (era === 'legacy') await request('logging/setLevel', { level });
      else logLevel = level;
    },
    subscribe: async (uri) => {
      if (era === 'modern') return listen({ resourceSubscriptions: [uri] });
      await client.subscribeResource({ uri });
      return {
        [Symbol.asyncDispose]: async () => void (await client.unsubscribeResource({ uri })),
      };
    },
    watchLists: async () =>
      era === 'modern'
        ? listen({ toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true })
        : { [Symbol.asyncDispose]: async () => {} },
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
