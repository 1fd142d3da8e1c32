// How long a NATS server keeps answers for a worker: no longer than they are of use, so that answers for processes
// that are gone do not fill the mailbox for the next ones. Against a real server.

import { connect } from '@nats-io/transport-node';
import { expect, it } from 'vitest';
import { BrokerError } from '../../src/broker/broker-error.ts';
import { replyMs } from '../../src/fleet/call-ids.ts';
import { connectWorker } from '../../src/fleet/worker/connect-worker.ts';
import { members } from '../support/broker-suite/subject.ts';
import { faultyStdio } from '../support/faulty.ts';
import { Fleet } from '../support/fleet.ts';
import { startNatsBroker } from '../support/nats-broker.ts';
import { passwordOf } from '../support/nats-server.ts';
import { until } from '../support/until.ts';

const { mailbox: to } = members.ann;

/** Of the stream of one kind of mail of ann, as the server has it. */
async function maxAgeMs(url: string, kind: string): Promise<number> {
  const pass = passwordOf('ann');
  const nats = await connect({ servers: url, user: to, pass, inboxPrefix: '_INBOX.ann~mcp' });
  try {
    const answer = await nats.request(`$JS.API.STREAM.INFO.hf-mail-${kind}`);
    return answer.json<{ config: { max_age: number } }>().config.max_age / 1_000_000;
  } finally {
    await nats.close();
  }
}

it('answers for seats that are gone make room in time, also in a mailbox from before #broker-deadline #no-growth', async () => {
  // Its mailboxes are made without a time.
  await using broker = await startNatsBroker();
  const boss = await broker.link('boss');
  const body = Buffer.alloc(boss.maxBodyBytes);
  let sent = 0;
  const deliver = () => {
    sent += 1;
    const about = { id: `l-${sent}`, to, seat: 'gone', kind: 'note' };
    return boss.deliver({ ...about, ttlMs: 1_000, body }).then(
      () => 'kept',
      (error: unknown) => (error instanceof BrokerError ? error.reason : 'unexpected'),
    );
  };
  while ((await deliver()) === 'kept');
  expect(await deliver()).toBe('full');
  await broker.linkWith('ann', { kinds: ['note'], keepMs: 1_000 });
  await until(async () => (await deliver()) === 'kept', 'there is room again');
  expect(await maxAgeMs(broker.server.url, 'note')).toBe(1_000);
  // A link that says nothing, or more, changes nothing.
  await broker.linkWith('ann', { kinds: ['note'], keepMs: 5_000 });
  expect(await maxAgeMs(broker.server.url, 'note')).toBe(1_000);
});

it('a worker has its answers kept for as long as they are of use #broker-deadline', async () => {
  await using fleet = await Fleet.start('nats', {
    mcpServers: { own: faultyStdio() },
    roles: { reader: { allow: ['own/*'] } },
  });
  const { url: broker } = fleet.broker;
  const credential = fleet.broker.credential('ann');
  await using worker = await connectWorker({ broker, to: 'boss', credential });
  await worker.call('boss', 'own__echo', { text: 'hello' });
  expect(await maxAgeMs(broker, 'mcp-reply')).toBe(replyMs);
});
