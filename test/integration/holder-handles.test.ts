// Connections that the pid-holder passes to a serving process which is killed before it has taken them: the holder keeps
// none of them, or their clients would wait for ever for an answer that nobody can give.

import { once } from 'node:events';
import { createConnection, createServer, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { takenFrom } from '../../src/rollout/holder/raw-handle.ts';
import { ServingProcess } from '../../src/rollout/holder/serving-process.ts';

/** Both ends of so many connections. */
async function connections(count: number) {
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const pairs = [];
  for (let number = 0; number < count; number += 1) {
    const client = createConnection(port, '127.0.0.1');
    const [accepted] = (await once(server, 'connection')) as [Socket];
    pairs.push({ client, accepted });
  }
  return { pairs, [Symbol.dispose]: () => server.close() };
}

describe('a serving process that is killed', () => {
  it('closes the connections that it was given and had not taken #pid-holder', async () => {
    const introduction = { ordinal: 1, instance: 'abcd', role: 'first' } as const;
    const words = ['-e', 'setInterval(() => {}, 1_000)'];
    const serving = new ServingProcess({ introduction, words }, () => {});
    using some = await connections(3);
    // It takes nothing any more.
    serving.kill('SIGSTOP');
    let closed = 0;
    const ends = some.pairs.map(async ({ client, accepted }) => {
      const handle = takenFrom(accepted);
      serving.tell({ op: 'passed', head: null }, handle, () => {
        closed += 1;
        handle?.close();
      });
      client.resume();
      await once(client, 'close');
    });
    serving.kill();
    await serving.ended;
    await Promise.all(ends);
    expect(closed).toBe(3);
  });
});
