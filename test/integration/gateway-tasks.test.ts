// Tasks between programs that nobody here wrote: the official everything server, which runs one of its
// tools only as a task, and the clients of both SDKs, one of which knows tasks.

import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolResultSchema,
  CreateTaskResultSchema,
  ElicitRequestSchema,
  type ServerCapabilities,
} from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Gateway, GatewayFolder } from '../support/gateway.ts';
import { connectSdk1 } from './matrix/client-sdk-1.ts';
import { connectSdk2 } from './matrix/client-sdk-2.ts';

const require = createRequire(import.meta.url);
const program = (name: string) =>
  join(dirname(require.resolve(`@modelcontextprotocol/${name}/package.json`)), 'dist', 'index.js');
const research = 'everything__simulate-research-query';
const related = 'io.modelcontextprotocol/related-task';
/** The work of the tool takes four seconds, so its clients come together. */
const longMs = 30_000;

let folder: GatewayFolder;
let gateway: Gateway;

/** Two servers: what is asked about a task must find the right one. */
const config = {
  mcpServers: {
    memory: { command: process.execPath, args: [program('server-memory')] },
    everything: { command: process.execPath, args: [program('server-everything'), 'stdio'] },
  },
};

beforeAll(async () => {
  folder = await GatewayFolder.create();
  gateway = await folder.start(config);
  // Tasks are declared to those who come when it is known that a server has them.
  await using first = await connectSdk1({ kind: 'http', url: gateway.url });
  await first.toolNames();
});
afterAll(async () => {
  await gateway?.stop();
  await folder?.[Symbol.asyncDispose]();
});

interface TaskClient extends AsyncDisposable {
  readonly client: Client;
  readonly asked: unknown[];
  readonly statuses: unknown[];
}

async function connected(): Promise<TaskClient> {
  const client = new Client(
    { name: 'tasks', version: '1.0.0' },
    { capabilities: { elicitation: { form: {} } } },
  );
  const asked: unknown[] = [];
  const statuses: unknown[] = [];
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    asked.push(params);
    return { action: 'accept', content: { interpretation: 'snake' } };
  });
  client.fallbackNotificationHandler = async ({ method, params }) => {
    if (method === 'notifications/tasks/status') statuses.push(params);
  };
  // The SDK's own types do not allow for exactOptionalPropertyTypes.
  await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url)) as Transport);
  await client.listTools();
  return { client, asked, statuses, [Symbol.asyncDispose]: () => client.close() };
}

/** Begins a task; gives its handle. */
async function begin({ client }: TaskClient, args: object = { topic: 'kelp' }): Promise<string> {
  const { task } = await client.request(
    { method: 'tools/call', params: { name: research, arguments: args, task: { ttl: 60_000 } } },
    CreateTaskResultSchema,
  );
  return task.taskId;
}

describe.concurrent('a client that supports tasks', { timeout: longMs }, () => {
  it('follows one to its end, as it does without a gateway #tasks #all-of-mcp', async () => {
    await using other = await connected();
    await using own = await connected();
    const { client } = own;
    const capabilities = client.getServerCapabilities() as ServerCapabilities;
    expect(capabilities.tasks).toEqual({ list: {}, cancel: {}, requests: { tools: { call: {} } } });
    const seen: string[] = [];
    const handles = new Set<string>();
    const stream = client.experimental.tasks.callToolStream({
      name: research,
      arguments: { topic: 'kelp' },
    });
    for await (const message of stream) {
      seen.push(message.type);
      if (message.type === 'taskCreated' || message.type === 'taskStatus') {
        handles.add(message.task.taskId);
      }
      if (message.type === 'error') throw message.error;
      if (message.type === 'result') {
        const [content] = message.result.content as { text: string }[];
        expect(content?.text).toContain('Research Report: kelp');
        expect(message.result._meta?.[related]).toEqual({ taskId: [...handles][0] });
      }
    }
    expect(seen.at(0)).toBe('taskCreated');
    expect(seen).toContain('taskStatus');
    expect(seen.at(-1)).toBe('result');
    expect(handles.size).toBe(1);
    const told = new Set(own.statuses.map((status) => (status as { taskId: string }).taskId));
    expect([...told]).toEqual([...handles]);
    expect(other.statuses).toEqual([]);
    const { tasks } = await client.experimental.tasks.listTasks();
    expect(tasks).toMatchObject([{ taskId: [...handles][0], status: 'completed' }]);
  });

  it('is asked what the task needs, under its own handle #tasks #asked-client', async () => {
    await using own = await connected();
    const taskId = await begin(own, { topic: 'python', ambiguous: true });
    const result = await own.client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema);
    expect(own.asked).toMatchObject([{ _meta: { [related]: { taskId } } }]);
    expect(result.content).toMatchObject([{ text: expect.stringContaining('python (snake)') }]);
  });

  it('has its tasks to itself, and cancels them #tasks #own-answers-only', async () => {
    await using own = await connected();
    await using other = await connected();
    const taskId = await begin(own);
    const foreign = other.client.experimental.tasks;
    for (const ask of [
      () => foreign.getTask(taskId),
      () => foreign.cancelTask(taskId),
      () => foreign.getTaskResult(taskId, CallToolResultSchema),
    ]) {
      await expect(ask()).rejects.toMatchObject({ code: -32602 });
    }
    expect((await foreign.listTasks()).tasks).toEqual([]);
    const cancelled = await own.client.experimental.tasks.cancelTask(taskId);
    expect(cancelled).toMatchObject({ taskId, status: 'cancelled' });
  });
});

describe.concurrent('a client that does not support tasks', { timeout: longMs }, () => {
  const call = { name: research, arguments: { topic: 'kelp' } };

  it.each([
    ['legacy', () => folder.stdioDoor(config)],
    ['legacy', async () => ({ kind: 'http', url: gateway.url }) as const],
    ['modern', async () => ({ kind: 'http', url: gateway.url }) as const],
  ] as const)(
    'gets the result of a tool that runs only as a task (%s) #tasks',
    async (era, door) => {
      await using client = await (era === 'legacy'
        ? connectSdk1(await door())
        : connectSdk2(await door(), 'modern'));
      // The server asks for roots when it is greeted for somebody who has some.
      client.conversation.answer = () => ({ roots: [] });
      const { content, _meta } = await client.request('tools/call', call);
      expect(content).toMatchObject([{ text: expect.stringContaining('Research Report: kelp') }]);
      expect(_meta ?? {}).not.toHaveProperty([related]);
    },
  );
});
