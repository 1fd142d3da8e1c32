// The official SDK's client (v2), as its documentation shows it.

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { EchoClient } from '../client.ts';

export async function sdkClient(command: string, args: readonly string[]): Promise<EchoClient> {
  const client = new Client({ name: 'bench', version: '0' });
  await client.connect(
    new StdioClientTransport({ command, args: [...args], maxBufferSize: 64 * 1024 * 1024 }),
  );
  return {
    name: 'SDK Client',
    async echo(text, repeat) {
      const args = repeat === 1 ? { text } : { text, repeat };
      const result = await client.callTool({ name: 'echo', arguments: args });
      return (result.content as unknown as [{ text: string }])[0].text;
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}
