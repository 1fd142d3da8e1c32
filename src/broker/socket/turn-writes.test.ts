// Frames of one turn of the event loop are written together. A real stream that counts its writes.

import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { TurnWrites } from './turn-writes.ts';

it('what is sent in one turn is one write, and the next turn is another', async () => {
  const writes: string[] = [];
  const stream = new Writable({
    writev: (chunks, done) => {
      writes.push(chunks.map(({ chunk }) => String(chunk)).join(' '));
      done();
    },
  });
  const turns = new TurnWrites(stream);
  const send = (text: string) => {
    turns.gather();
    stream.write(text);
  };
  for (const text of ['a', 'b', 'c']) send(text);
  expect(writes).toEqual([]);
  await new Promise((resolve) => setImmediate(resolve));
  for (const text of ['d', 'e']) send(text);
  await new Promise((resolve) => setImmediate(resolve));
  expect(writes).toEqual(['a b c', 'd e']);
});
