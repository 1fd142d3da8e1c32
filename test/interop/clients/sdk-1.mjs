// @modelcontextprotocol/sdk 1.x, over Streamable HTTP, stdio and the transport of 2024.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { answerOf, drive, target } from './drive.mjs';

const { transport, url, sseUrl, headers, stdio } = target;
const client = new Client({ name: 'interop', version: '1.0.0' });

const transports = {
  http: () => new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }),
  sse: () => new SSEClientTransport(new URL(sseUrl), { requestInit: { headers } }),
  stdio: () => new StdioClientTransport({ ...stdio, stderr: 'ignore' }),
};

await drive({
  connect: () => client.connect(transports[transport]()),
  list: async () => (await client.listTools()).tools.map(({ name }) => name),
  call: async (name, args) => answerOf(await client.callTool({ name, arguments: args })),
  close: () => client.close(),
});
