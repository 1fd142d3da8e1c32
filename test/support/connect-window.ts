// An agent's window: the official client, with `holdfast connect` as its server; and the instance that
// such windows share.

import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { holderIn } from '../../src/instance/lock-holder.ts';
import { errnoOf } from '../../src/kernel/errno.ts';
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

/** The process that the lock of the instance names; undefined if it names none, or is just being replaced. */
export function holderPid({ place: { folder } }: GatewayHome): number | undefined {
  const locks = readdirSync(folder).filter((name) => name.startsWith('lock.'));
  const last = locks
    .sort((one, other) => one.length - other.length || (one < other ? -1 : 1))
    .at(-1);
  try {
    return holderIn(readlinkSync(join(folder, last ?? '')))?.pid;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** The process of the instance, from its lock. */
export function instancePid(home: GatewayHome): number {
  const pid = holderPid(home);
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
