// The other gateways. mcp-proxy is called in both eras, as it takes both well; supergateway in a
// session of the older one alone, because it starts a process per call for 2026-07-28. Neither puts
// stdio in front of a stdio server, so they are measured on HTTP only. Their packages are apart from
// the product's, and installed when they are missing.

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { HttpCommand } from './http-subject.ts';
import { leanServer } from './lean-server.ts';

const folder = fileURLToPath(new URL('../peers', import.meta.url));

export async function peersOnHttp(): Promise<readonly HttpCommand[]> {
  if (!existsSync(`${folder}/node_modules`)) {
    execFileSync('npm', ['ci', '--prefix', folder], { stdio: 'inherit' });
  }
  return [await mcpProxy('session'), await mcpProxy('modern'), await supergateway()];
}

async function mcpProxy(dialect: HttpCommand['dialect']): Promise<HttpCommand> {
  const port = await freePort();
  return {
    name: dialect === 'session' ? 'mcp-proxy' : 'mcp-proxy, 2026-07-28',
    args: [
      `${folder}/node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs`,
      ...['--host', '127.0.0.1', '--port', port],
      ...['--', leanServer.command, ...leanServer.args],
    ],
    url: `http://127.0.0.1:${port}/mcp`,
    dialect,
  };
}

async function supergateway(): Promise<HttpCommand> {
  const port = await freePort();
  return {
    name: 'supergateway',
    args: [
      `${folder}/node_modules/supergateway/dist/index.js`,
      ...['--stdio', [leanServer.command, ...leanServer.args].join(' ')],
      ...['--outputTransport', 'streamableHttp', '--stateful', '--logLevel', 'none'],
      ...['--port', port],
    ],
    url: `http://127.0.0.1:${port}/mcp`,
    dialect: 'session',
  };
}

/** Both take a port and neither says which one it got. */
async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return String(port);
}
