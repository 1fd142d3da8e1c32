// A worker that tells a reader more than may wait for it is refused, and not any more when the reader has read: over
// real sockets, where the broker learns it from the answers to its pings.

import { expect, it } from 'vitest';
import { ReadMail } from '../../../test/support/broker-suite/read-mail.ts';
import { startEmbeddedBroker } from '../../../test/support/embedded-broker.ts';
import type { Link } from '../contract.ts';

/** Until it is not refused any more and its reader has it. */
async function tellUntilRead(link: Link, id: string, read: ReadMail): Promise<string> {
  const tell = () =>
    link.tell({ id, to: 'boss', kind: 'note', body: Buffer.from('text') }, ({ reason }) => {
      if (reason === 'full') setImmediate(tell);
    });
  tell();
  return (await read.next()).id;
}

it('a worker whose letters are read may tell more, however many it has told #principal-share', async () => {
  await using broker = await startEmbeddedBroker({ maxToldLetters: 4 });
  const boss = await broker.link('boss', 'seat');
  const read = await ReadMail.of(boss, 'note');
  const ann = await broker.link('ann', 'seat');
  const ids = Array.from({ length: 40 }, (_, at) => `letter-${at}`);
  const came: string[] = [];
  for (const id of ids) came.push(await tellUntilRead(ann, id, read));
  expect(came).toEqual(ids);
});
