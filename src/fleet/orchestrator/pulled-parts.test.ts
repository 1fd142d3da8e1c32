// Workers that pull the same part of an answer again and again: by themselves on a manual clock, and with a played
// gateway behind a real broker.

import { expect, it } from 'vitest';
import { ReadMail } from '../../../test/support/broker-suite/read-mail.ts';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { playedRequest, startPlayedFleet } from '../../../test/support/played-fleet.ts';
import type { Link, Mail } from '../../broker/contract.ts';
import { partBytes, partIn, pullBody } from '../parcel.ts';
import { BrokeredCall } from './brokered-call.ts';
import { PulledParts } from './pulled-parts.ts';

function pulling() {
  const clock = manualClock();
  const link = { backlogBytes: 0, tell: () => {} };
  const from = { mailbox: 'ann.mcp', seat: 's', role: null };
  const mail = { id: 'call', from, body: Buffer.alloc(0), isKept: false };
  const ends = {
    answered: () => {},
    withdrawn: () => {},
    mayWait: () => true,
    hasWaited: () => {},
    caught: (error: unknown) => {
      throw error;
    },
  };
  const newLink = () => ({ ...link }) as Partial<Link> as Link;
  const first = newLink();
  const call = new BrokeredCall(
    { key: 'ann.mcp call', digest: '' },
    first,
    mail as Partial<Mail> as Mail,
    clock,
    ends,
  );
  const answer = Buffer.alloc(2 * partBytes + 1);
  const parts = new PulledParts(clock);
  const pull = (offset: number, by = first) => parts.take(by, call, answer, offset);
  return { clock, newLink, pull };
}

it('a part that is asked for again and again is sent twice, and again after a second #no-growth', () => {
  const { clock, pull } = pulling();
  expect([pull(0), pull(0), pull(0)]).toEqual([true, true, false]);
  clock.advance(999);
  expect(pull(0)).toBe(false);
  clock.advance(1);
  expect([pull(0), pull(0), pull(0)]).toEqual([true, true, false]);
});

it('other parts, and the same part by another link, are sent at once', () => {
  const { newLink, pull } = pulling();
  expect([pull(0), pull(0), pull(0)]).toEqual([true, true, false]);
  expect([pull(partBytes), pull(2 * partBytes), pull(0, newLink())]).toEqual([true, true, true]);
});

it('only whole parts are sent #no-growth', () => {
  const { pull } = pulling();
  expect([pull(1), pull(partBytes - 1), pull(partBytes)]).toEqual([false, false, true]);
});

it('many letters that pull one part get it twice, and the other parts come #no-growth', async () => {
  await using fleet = await startPlayedFleet();
  fleet.gateway.answer = () => 'x'.repeat(2 * partBytes);
  const bob = await fleet.broker.link('bob', 'caller');
  const replies = await ReadMail.of(bob, 'mcp-reply');
  const chunks = await ReadMail.of(bob, 'mcp-chunk');
  const body = Buffer.from(playedRequest('tool'));
  await bob.deliver({ id: 'big', to: 'boss', kind: 'mcp-request', about: 'big', body });
  await replies.next();
  const pull = (offset: number) =>
    bob.tell({ id: 'p', to: 'boss', kind: 'mcp-pull', about: 'big', body: pullBody(offset) });
  for (let at = 0; at < 100; at += 1) pull(at % 2);
  pull(partBytes);
  const offsets: unknown[] = [];
  while (offsets.at(-1) !== partBytes) {
    const part = partIn((await chunks.next()).body);
    offsets.push(typeof part === 'string' ? part : part.offset);
  }
  expect(offsets).toEqual([0, 0, partBytes]);
});
