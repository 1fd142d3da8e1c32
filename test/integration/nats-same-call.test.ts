// A worker that asks for one call in thousands of letters, with a client of its own, on a real NATS server: it takes one
// place at its orchestrator, which goes on with the requests of others.

import { connect, headers } from '@nats-io/transport-node';
import { describe, expect, it } from 'vitest';
import { senderOf } from '../../src/broker/identity.ts';
import { windowLetters } from '../../src/broker/nats/limits.ts';
import { subjectOf } from '../../src/broker/nats/subjects.ts';
import { ReadMail } from '../support/broker-suite/read-mail.ts';
import { members } from '../support/broker-suite/subject.ts';
import { passwordOf } from '../support/nats-server.ts';
import { playedRequest, startPlayedFleetOn } from '../support/played-fleet.ts';
import { playedNats } from '../support/played-nats.ts';
import { until } from '../support/until.ts';

/** Letters of the same id, which the server takes for different ones. */
async function floodOf(url: string, id: string, count: number): Promise<void> {
  const { mailbox } = members.ann;
  const inboxPrefix = '_INBOX.ann~mcp';
  const options = { servers: url, user: mailbox, pass: passwordOf('ann'), inboxPrefix };
  const nats = await connect({ ...options, reconnect: false });
  const from = senderOf(members.ann, 'hostile');
  const body = Buffer.from(playedRequest('same'));
  const subject = subjectOf('mail', { id, to: 'boss', kind: 'mcp-request', body }, from);
  for (let at = 0; at < count; at += 64) {
    await Promise.all(
      Array.from({ length: 64 }, (_, more) => {
        const named = headers();
        named.set('Hf-Id', id);
        named.set('Nats-Msg-Id', `${at + more}`);
        return nats.request(subject, body, { headers: named, timeout: 10_000 });
      }),
    );
  }
  await nats.close();
}

describe('a worker that asks for one call in more letters than an orchestrator holds', () => {
  it('runs it once, and others are served #no-growth #broker-once', async () => {
    await using fleet = await startPlayedFleetOn(await playedNats());
    fleet.gateway.answer = undefined;
    await floodOf(fleet.broker.url, 'same', windowLetters + 64);
    const bob = await fleet.broker.link('bob', 'seat');
    const replies = await ReadMail.of(bob, 'mcp-reply');
    const body = Buffer.from(playedRequest('of-bob'));
    await bob.deliver({ id: 'b', to: 'boss', kind: 'mcp-request', about: 'b', body });
    await until(() => fleet.gateway.runs.length === 2, 'it runs', 20_000);
    expect(fleet.gateway.runs.map(({ principal }) => principal)).toEqual([
      'worker:ann.mcp',
      'worker:bob.mcp',
    ]);
    fleet.gateway.runs[1]?.reply.answer(['done']);
    expect((await replies.next()).body.toString()).toBe('done');
  }, 60_000);
});
