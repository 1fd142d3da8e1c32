// Clients that can do different things, in front of a real server whose tools depend on that, with another Holdfast
// between them: behind a broker, and behind one that is reached over HTTP. Each client, of either era, sees what the
// server shows it without us, at the same time as the others, and what it can do is asked of it.

import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import {
  Client as ModernClient,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { Fleet } from '../support/fleet.ts';
import { GatewayFolder } from '../support/gateway.ts';
import { until } from '../support/until.ts';

const require = createRequire(import.meta.url);
const folderOfServer = dirname(
  require.resolve('@modelcontextprotocol/server-everything/package.json'),
);
const everything = {
  command: process.execPath,
  args: [join(folderOfServer, 'dist', 'index.js'), 'stdio'],
};

const can = {
  nothing: {},
  everything: { roots: {}, sampling: {}, elicitation: { form: {}, url: {} } },
} as const;

const sampled = {
  model: 'none',
  role: 'assistant' as const,
  content: { type: 'text' as const, text: 'sampled' },
};
const elicited = { action: 'accept' as const, content: { name: 'Ada' } };

/** What a test needs of the official client of either era. */
interface Asker {
  listTools(): Promise<{ tools: readonly { name: string }[] }>;
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
}

async function namesOf(client: Asker): Promise<readonly string[]> {
  return (await client.listTools()).tools.map(({ name }) => name).sort();
}

async function textOf(client: Asker, name: string, args = {}): Promise<string> {
  return JSON.stringify(await client.callTool({ name, arguments: args }));
}

function answering(client: Client): Client {
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [] }));
  client.setRequestHandler(CreateMessageRequestSchema, () => sampled);
  client.setRequestHandler(ElicitRequestSchema, () => elicited);
  return client;
}

/** What the server shows such a client when nothing is between them. */
async function bareNames(capabilities: object, prefix: string): Promise<readonly string[]> {
  const client = new Client({ name: 'bare', version: '1' }, { capabilities });
  if ('roots' in capabilities) answering(client);
  await client.connect(new StdioClientTransport({ ...everything, stderr: 'ignore' }));
  const names = await namesOf(client);
  await client.close();
  return names.map((name) => `${prefix}${name}`);
}

/** Both lists come together, and what the server asks in its calls is answered by the client that can. */
async function expectOwn(rich: Asker, plain: Asker, prefix: string): Promise<void> {
  const [more, less] = await Promise.all([
    bareNames(can.everything, prefix),
    bareNames(can.nothing, prefix),
  ]);
  expect(more.length - less.length).toBeGreaterThan(2);
  const both = () => Promise.all([namesOf(rich), namesOf(plain)]);
  const isOwn = async () => isDeepStrictEqual(await both(), [more, less]);
  await until(isOwn, 'each client sees its own tools');
  expect(await both()).toEqual([more, less]);
  const elicitation = `${prefix}trigger-elicitation-request`;
  expect(await textOf(rich, elicitation)).toContain('Ada');
  const sampling = `${prefix}trigger-sampling-request`;
  expect(await textOf(rich, sampling, { prompt: 'x', maxTokens: 5 })).toContain('sampled');
  await expect(textOf(plain, elicitation)).rejects.toThrow('Unknown tool');
  expect(await textOf(plain, `${prefix}echo`, { message: 'hi' })).toContain('Echo: hi');
}

describe.each(['embedded', 'nats'] as const)('workers behind the %s broker', (broker) => {
  it('see what their client can use, each its own, and their client is asked #classes #fleet', async () => {
    await using fleet = await Fleet.start(broker, {
      mcpServers: { e: everything },
      roles: { reader: { allow: ['e/*'] } },
    });
    const [rich, plain] = await Promise.all([
      fleet.worker('ann', can.everything),
      fleet.worker('ann', can.nothing),
    ]);
    answering(rich.client);
    await expectOwn(rich.client, plain.client, 'e__');
  });
});

describe('a Holdfast behind a Holdfast', () => {
  it.each(['auto', 'shared', 'client'])(
    'shows clients of the modern era what each can use, with isolation %s #classes',
    async (isolation) => {
      await using folder = await GatewayFolder.create();
      const quiet = { hostTools: false };
      await using inner = await folder.start({ ...quiet, mcpServers: { e: everything } });
      const upstream = { type: 'http', url: inner.url, isolation };
      await using outer = await folder.start({ ...quiet, mcpServers: { inner: upstream } });
      await using rich = await modernClient(outer.url, can.everything);
      await using plain = await modernClient(outer.url, can.nothing);
      await expectOwn(rich, plain, 'inner__e__');
    },
  );
});

async function modernClient(url: string, capabilities: object): Promise<Asker & AsyncDisposable> {
  const client = new ModernClient(
    { name: 'modern', version: '1' },
    { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  if ('roots' in capabilities) {
    client.setRequestHandler('roots/list', () => ({ roots: [] }));
    client.setRequestHandler('sampling/createMessage', () => sampled);
    client.setRequestHandler('elicitation/create', () => elicited);
  }
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return {
    listTools: () => client.listTools(undefined, { cacheMode: 'bypass' }),
    callTool: (params) => client.callTool(params),
    [Symbol.asyncDispose]: () => client.close(),
  };
}
