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
      return (result.content as [{ text: string }])[0].text;
    },
    [Symbol.asyncDispose]: () => host.close(),
  };
}
