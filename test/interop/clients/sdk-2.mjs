// @modelcontextprotocol/client 2.x, which speaks the legacy era by default and finds out with `auto`.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { answerOf, drive, target } from './drive.mjs';

const { transport, url, headers, stdio, mode } = target;
const options = mode === undefined ? {} : { versionNegotiation: { mode } };
const client = new Client({ name: 'interop', version: '1.0.0' }, options);

await drive({
  async connect() {
    await client.connect(
      transport === 'stdio'
        ? new StdioClientTransport({ ...stdio, stderr: 'ignore' })
        : new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }),
    );
    return client.getNegotiatedProtocolVersion?.();
  },
  list: async () => (await client.listTools()).tools.map(({ name }) => name),
  call: async (name, args) => answerOf(await client.callTool({ name, arguments: args })),
  close: () => client.close(),
});
