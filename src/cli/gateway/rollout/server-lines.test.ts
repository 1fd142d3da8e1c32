import { expect, it } from 'vitest';
import { TakenServers } from './server-lines.ts';

it('whoever keeps a server for the calls of the former is told when they end, begin again, or are lost with it', async () => {
  let say: (say: string) => void = () => {};
  let end = () => {};
  const closed = new Promise<void>((resolve) => {
    end = resolve;
  });
  const link = {
    on: (_kind: string, heard: (head: unknown, payload: Buffer) => void) => {
      say = (word) => heard({ id: 0, say: word }, Buffer.from('{}'));
      return { [Symbol.dispose]: () => {} };
    },
    send: () => {},
    closed,
    [Symbol.dispose]: () => {},
  };
  const greeting = { era: 'legacy', protocolVersion: '2025-11-25', capabilities: {} };
  const state = {
    ...{ transport: 'stdio', generation: 1, nextId: 2, greeting },
    ...{ stdout: { noise: null }, stderr: [] },
  };
  const written = [{ id: 0, state, child: { id: 1 }, lengths: [0, 0, 0], mayHaveCalls: true }];
  const parts = { link: link as never, mayBegin: Promise.resolve() };
  const former = new TakenServers(parts, written, Buffer.alloc(0)).all.get(0)?.former;
  if (former === undefined) throw new Error('it was not taken');
  const seen: boolean[] = [];
  former.watch?.(() => seen.push(former.mayHaveCalls));
  for (const word of ['empty', 'empty', 'line', 'line', 'empty', 'begun']) say(word);
  end();
  await closed;
  await Promise.resolve();
  expect(seen).toEqual([false, true, false, true, false]);
});
