// Holdfast as the library: `host.call` with everything it does on the way.

import { createHost } from '../../../dist/index.js';
import type { EchoClient } from '../client.ts';

export async function hostClient(command: string, args: readonly string[]): Promise<EchoClient> {
  const host = await createHost({ mcpServers: { echo: { command, args } } });
  return {
    name: 'host.call',
    async echo(text, repeat) {
      const args = repeat === 1 ? { text } : { text, repeat };
      const result = await host.call('echo', 'echo', args);
      const [block] = result.content ?? [];
      if (block?.type !== 'text') throw new Error('the echo server answered without text');
      return block.text;
    },
    [Symbol.asyncDispose]: () => host.close(),
  };
}
