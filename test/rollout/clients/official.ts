// The official clients: of both eras over HTTP, and at the pipes of a process, which is `holdfast connect` or `holdfast
// serve --stdio`. They answer the questions of servers. How often they say hello is read from what they send.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { mainProgram } from '../../support/build.ts';
import type { GatewayHome } from '../../support/gateway-home.ts';
import type { History, Order } from '../history.ts';
import { askable, type LoadClient } from './load-client.ts';

export interface ProcessClient extends LoadClient {
  readonly pid: number;
}

export async function officialHttp(
  name: string,
  url: string,
  history: History,
  mode: 'legacy' | 'auto',
): Promise<LoadClient> {
  const options = { capabilities: askable, versionNegotiation: { mode } };
  const client = new Client({ name, version: '1' }, options);
  client.setRequestHandler('elicitation/create', async ({ params }) => nameFor(params.message));
  client.onerror = (error) => {
    // A stream that ends is opened anew by the client itself: nothing that the protocol does not provide for.
    if (!/SSE stream disconnected/.test(error.message)) history.saw(name, String(error));
  };
  const fetching: typeof fetch = (input, init) => {
    if (typeof init?.body === 'string' && /"method":"initialize"/.test(init.body))
      history.hello(name);
    return fetch(input, init);
  };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: fetching }));
  return {
    name,
    call: ({ tool, args }: Order) => client.callTool({ name: tool, arguments: { ...args } }),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** With words such as `['connect', '--idle-end', '60000']`. */
export async function officialProcess(
  name: string,
  home: GatewayHome,
  history: History,
  [command = '', ...words]: readonly string[],
): Promise<ProcessClient> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [mainProgram, command, '--config', home.configFile, ...words],
    env: home.env,
    cwd: home.folder,
    stderr: 'pipe',
  });
  let said = '';
  transport.stderr?.on('data', (chunk) => {
    said = `${said}${chunk}`.slice(-2_000);
  });
  const client = new LegacyClient({ name, version: '1' }, { capabilities: askable });
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => nameFor(params.message));
  client.onerror = (error) => history.saw(name, String(error));
  await client.connect(transport);
  history.hello(name);
  const pid = transport.pid ?? 0;
  let isEnding = false;
  client.onclose = () => {
    if (!isEnding) history.saw(name, `its process has ended: ${said}`);
  };
  return {
    name,
    pid,
    call: ({ tool, args }: Order) => client.callTool({ name: tool, arguments: { ...args } }),
    [Symbol.asyncDispose]: () => {
      isEnding = true;
      return client.close();
    },
  };
}

function nameFor(message: string) {
  return { action: 'accept' as const, content: { name: message } };
}
