// An agent's window: the official client, with `holdfast connect` as its server; and the instance that
// such windows share.

import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { holderIn } from '../../src/instance/lock-holder.ts';
import { mainProgram } from './build.ts';
import type { GatewayHome } from './gateway-home.ts';
import type { Json } from './gateway-stdio-client.ts';
import { until } from './until.ts';

export interface Window extends AsyncDisposable {
  readonly client: Client;
  call(tool: string, args?: object, meta?: object): Promise<Json>;
  readonly stderr: () => string;
}

export async function openWindow(
  home: GatewayHome,
  cwd = home.folder,
  env: Readonly<Record<string, string>> = {},
): Promise<Window> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [mainProgram, 'connect', '--config', home.configFile, '--idle-end', '1500'],
    env: { ...home.env, ...env },
    cwd,
    stderr: 'pipe',
  });
  let said = '';
  transport.stderr?.on('data', (chunk) => {
    said += chunk;
  });
  const client = new Client({ name: 'window', version: '1' });
  await client.connect(transport);
  return {
    client,
    stderr: () => said,
    call: (name, args = {}, meta = {}) =>
      client.callTool({ name, arguments: { ...args }, _meta: { ...meta } }),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

export async function statusOf(home: GatewayHome): Promise<Json> {
  return JSON.parse((await home.run(['status', '--json'])).stdout);
}

/** The process of the instance, from its lock. */
export function instancePid({ place: { folder } }: GatewayHome): number {
  const lock = readdirSync(folder).find((name) => name.startsWith('lock.')) ?? '';
  const pid = holderIn(readlinkSync(join(folder, lock)))?.pid;
  if (pid === undefined) throw new Error('nobody holds the lock');
  return pid;
}

/** No window is open: the instance that connect started ends by itself. */
export async function instanceEnded(home: GatewayHome): Promise<void> {
  await until(
    async () => (await statusOf(home))['instanceState'] === 'none',
    'the instance has ended',
  );
}
