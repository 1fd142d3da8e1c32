// A worker asks once more for a large answer that its orchestrator has lost, over a real NATS server, which confirms
// a letter that it knows and drops it. The orchestrator is played by the test, in this process as the worker is.

import { expect, it } from 'vitest';
import type { Mail } from '../../src/broker/contract.ts';
import { mailKinds } from '../../src/fleet/mail-kinds.ts';
import { gonePart, parcelOf, parcelReply } from '../../src/fleet/parcel.ts';
import { Channel } from '../../src/fleet/worker/channel.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { startNatsBroker } from '../support/nats-broker.ts';

it('an answer that is asked for once more comes, although its first letters are known to the server #broker-once', async () => {
  await using broker = await startNatsBroker();
  const boss = await broker.linkWith('boss', { kinds: [mailKinds.request] });
  const asked: Mail[] = [];
  const announced = parcelReply(parcelOf(Buffer.alloc(600_000, 'x')));
  await boss.receive(mailKinds.request, (mail) => {
    asked.push(mail);
    const { id, about, from } = mail;
    const to = { to: from.mailbox, seat: from.seat, kind: mailKinds.reply };
    const body = asked.length === 1 ? announced : Buffer.from('small now');
    boss.deliver({ id, about, ...to, ttlMs: 60_000, body }).then(
      () => mail.ack(),
      () => {},
    );
  });
  await boss.receive(mailKinds.pull, ({ id, about, from: { mailbox: to, seat } }) =>
    boss.tell({ id, to, seat, kind: mailKinds.chunk, about, body: gonePart() }),
  );
  const seat = 'window';
  await using channel = new Channel({
    openLink: () => broker.linkWith('ann', { seat, kinds: [mailKinds.reply] }),
    to: 'boss',
    clock: systemClock,
    random: () => 0,
    maxResponseBytes: 1_000_000,
    missed: () => {},
    gaveUp: () => {},
    caught: (error) => {
      throw error;
    },
  });
  const answer = await new Promise<string>((resolve, reject) => {
    channel.send(
      { id: 'call', body: Buffer.from('{}'), isKept: true, ttlMs: 60_000 },
      {
        sent: () => {},
        answered: (response) => resolve(response.toString()),
        news: () => {},
        failed: ({ cause }) => reject(cause),
      },
    );
  });
  expect(answer).toBe('small now');
  expect(asked.map(({ about }) => about)).toEqual(['call', 'call']);
});
