// Clients that can do different things, in front of real servers: what each of them sees, and how many
// processes that takes. The clients are the official ones, the servers official ones or a shell loop.

import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { GatewayFolder } from '../support/gateway.ts';
import { tinyServer } from '../support/gateway-tiny-server.ts';
import { until } from '../support/until.ts';

const require = createRequire(import.meta.url);

function official(name: string, ...args: string[]) {
  const root = dirname(require.resolve(`@modelcontextprotocol/${name}/package.json`));
  return { command: process.execPath, args: [join(root, 'dist', 'index.js'), ...args] };
}

type Abilities = ConstructorParameters<typeof Client>[1] extends
  | { capabilities?: infer C }
  | undefined
  ? NonNullable<C>
  : never;

const can = {
  nothing: {},
  roots: { roots: { listChanged: true } },
  answer: { sampling: {}, elicitation: {} },
  everything: { roots: { listChanged: true }, sampling: {}, elicitation: {} },
} satisfies Record<string, Abilities>;

class TestClient implements AsyncDisposable {
  readonly client: Client;

  private constructor(client: Client) {
    this.client = client;
  }

  static async connect(
    to: string | { command: string; args: string[] },
    capabilities: Abilities,
    root = '/',
  ): Promise<TestClient> {
    const client = new Client({ name: 'test', version: '1' }, { capabilities });
    const roots = [{ uri: pathToFileURL(root).href, name: 'root' }];
    if ('roots' in capabilities)
      client.setRequestHandler(ListRootsRequestSchema, () => ({ roots }));
    if ('sampling' in capabilities) {
      client.setRequestHandler(CreateMessageRequestSchema, () => ({
        model: 'none',
        role: 'assistant' as const,
        content: { type: 'text' as const, text: 'sampled' },
      }));
    }
    if ('elicitation' in capabilities) {
      client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'decline' as const }));
    }
    const transport =
      typeof to === 'string'
        ? new StreamableHTTPClientTransport(new URL(to))
        : new StdioClientTransport({ ...to, stderr: 'ignore' });
    await client.connect(transport as Transport);
    return new TestClient(client);
  }

  async toolNames(): Promise<readonly string[]> {
    const { tools } = await this.client.listTools();
    return tools.map(({ name }) => name).sort();
  }

  async text(name: string, args: Record<string, unknown> = {}): Promise<string> {
    const { content } = await this.client.callTool({ name, arguments: args });
    return (content as { text: string }[])[0]?.text ?? '';
  }

  /** The processes of all servers, as the gateway's own tool tells them. */
  async children(): Promise<readonly { pid: number; class: string | null }[]> {
    const result = await this.client.callTool({
      name: 'holdfast__health_snapshot',
      arguments: { render: 'json', detail: 'full' },
    });
    const { status } = result.structuredContent as {
      status: { servers: { children: { pid: number; class: string | null }[] }[] };
    };
    return status.servers.flatMap(({ children }) => children);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
  }
}

const numbers = Array.from({ length: 10 }, (_, at) => at + 1);

describe('ten servers that do not care who their clients are', () => {
  const tenServers = (folder: GatewayFolder) => ({
    mcpServers: Object.fromEntries(
      numbers.map((at) => [`s${at}`, tinyServer({ starts: join(folder.path, `starts-${at}`) })]),
    ),
  });

  it('are ten processes for one client #classes', async () => {
    await using folder = await GatewayFolder.create();
    await using gateway = await folder.start(tenServers(folder));
    await using one = await TestClient.connect(gateway.url, can.roots);
    expect((await one.toolNames()).length).toBe(22);
    for (const at of numbers) expect(await one.text(`s${at}__tool_1`)).toBe('done');
    expect(await one.children()).toHaveLength(10);
  });

  it('are ten processes at rest for three clients of different classes #classes', async () => {
    await using folder = await GatewayFolder.create();
    await using gateway = await folder.start(tenServers(folder));
    for (const _round of [1, 2]) {
      for (const capabilities of [can.nothing, can.roots, can.answer]) {
        await using client = await TestClient.connect(gateway.url, capabilities);
        expect((await client.toolNames()).length).toBe(22);
        await Promise.all(numbers.map((at) => client.text(`s${at}__tool_1`)));
      }
    }
    await using onlooker = await TestClient.connect(gateway.url, can.nothing);
    await until(async () => (await onlooker.children()).length === 10, 'ten processes at rest');
  });
});

describe('a real server whose tools depend on the client', () => {
  it.each(Object.entries(can))(
    'shows a client that can do %s what it shows it without us #classes',
    async (_what, capabilities) => {
      const entry = official('server-everything', 'stdio');
      await using bare = await TestClient.connect(entry, capabilities);
      await using folder = await GatewayFolder.create();
      await using gateway = await folder.start({ mcpServers: { e: entry }, hostTools: false });
      await using through = await TestClient.connect(gateway.url, capabilities);
      const expected = (await bare.toolNames()).map((name) => `e__${name}`);
      expect(await through.toolNames()).toEqual(expected);
    },
  );

  it('shows each of two clients its own at the same time #classes', async () => {
    await using folder = await GatewayFolder.create();
    const entry = official('server-everything', 'stdio');
    await using gateway = await folder.start({ mcpServers: { e: entry }, hostTools: false });
    await using plain = await TestClient.connect(gateway.url, can.nothing);
    await using rich = await TestClient.connect(gateway.url, can.everything);
    await plain.toolNames();
    expect(await rich.text('e__echo', { message: 'hi' })).toBe('Echo: hi');
    const more = async () => (await rich.toolNames()).length > (await plain.toolNames()).length;
    await until(more, 'the client that can do more sees more');
    expect(await rich.toolNames()).toContain('e__trigger-sampling-request');
    expect(await plain.toolNames()).not.toContain('e__trigger-sampling-request');
    const sampled = await rich.text('e__trigger-sampling-request', { prompt: 'x', maxTokens: 5 });
    expect(sampled).toContain('sampled');
  });
});

describe('a real server that works with the roots of its client', () => {
  it('knows them at the first call after every start #roots', async () => {
    for (const _start of [1, 2, 3]) {
      await using folder = await GatewayFolder.create();
      const file = join(folder.path, 'a.txt');
      await writeFile(file, 'seaweed');
      const files = official('server-filesystem');
      await using gateway = await folder.start({ mcpServers: { files } });
      await using client = await TestClient.connect(gateway.url, can.roots, folder.path);
      expect(await client.text('files__read_text_file', { path: file })).toBe('seaweed');
    }
  });
});
