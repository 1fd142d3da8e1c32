// mcp-remote, a bridge from stdio to HTTP: started as a server by the SDK's client.

import { createRequire } from 'node:module';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { answerOf, drive, target } from './drive.mjs';

const { url, headers } = target;
const program = createRequire(import.meta.url).resolve('mcp-remote/dist/proxy.js');
const header = Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}:${value}`]);
const client = new Client({ name: 'interop', version: '1.0.0' });

await drive({
  connect: () =>
    client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [program, url, '--transport', 'http-only', ...header],
        env: process.env,
        stderr: 'ignore',
      }),
    ),
  list: async () => (await client.listTools()).tools.map(({ name }) => name),
  call: async (name, args) => answerOf(await client.callTool({ name, arguments: args })),
  close: () => client.close(),
});
