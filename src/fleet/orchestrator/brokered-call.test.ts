// The answer to a worker's request, when the broker does not take it: it is sent again a few times, and then its letter
// is let go, so that a worker which reads nothing does not keep those of others waiting. When its link has ended, it goes
// by the next one, whether its letter comes again or not.

import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { BrokerError, type BrokerRefusal } from '../../broker/broker-error.ts';
import type { Letter, Link, Mail } from '../../broker/contract.ts';
import { BrokeredCall } from './brokered-call.ts';

function answered(refusals: readonly BrokerRefusal[]) {
  const played = aCall(refusals);
  played.call.answer(['done']);
  return played;
}

function aCall(refusals: readonly BrokerRefusal[]) {
  const clock = manualClock();
  const seen = { acks: 0, sent: 0 };
  const order: string[] = [];
  const letters: Letter[] = [];
  const link: Partial<Link> = {
    deliver: async (letter) => {
      letters.push(letter);
      const reason = refusals[seen.sent] ?? refusals.at(-1);
      seen.sent += 1;
      order.push('answer');
      if (reason !== undefined) throw new BrokerError(reason, 'as the test says');
    },
  };
  const mail: Partial<Mail> = {
    id: 'call',
    from: { mailbox: 'ann.mcp', seat: 's', role: 'reader', credential: 'of-ann' },
    body: Buffer.from('request'),
    isKept: true,
    ack: () => {
      seen.acks += 1;
      order.push('acknowledgement');
    },
  };
  const ends = {
    answered: () => {},
    withdrawn: () => {},
    mayWait: () => true,
    hasWaited: () => {},
    caught: (error: unknown) => {
      throw error;
    },
  };
  const call = new BrokeredCall(
    { key: 'ann.mcp call', digest: '' },
    link as Link,
    mail as Mail,
    clock,
    ends,
  );
  return { clock, seen, order, letters, call, link: link as Link, mail: mail as Mail };
}

describe('a refusal', () => {
  it('is sent when the letter is acknowledged, so that what did not run cannot come again #broker-once', async () => {
    const { clock, order, call } = aCall([]);
    call.refuse(['too many']);
    await clock.advanceAsync(600_000);
    expect(order).toEqual(['acknowledgement', 'answer']);
  });
});

describe('an answer', () => {
  it('is for the credential that has asked, and no later one of the same name #broker-identity', () => {
    const { letters } = answered([]);
    expect(letters).toMatchObject([{ to: 'ann.mcp', seat: 's', credential: 'of-ann' }]);
  });

  it.each<BrokerRefusal>(['full', 'not_kept', 'absent'])(
    'that is refused as %s is sent a few times, and then its letter is let go #no-growth',
    async (reason) => {
      const { clock, seen } = answered([reason]);
      await clock.advanceAsync(600_000);
      expect(seen).toEqual({ acks: 1, sent: 5 });
      expect(clock.pending).toBe(0);
    },
  );

  it('that is taken after a while is acknowledged once', async () => {
    const { clock, seen } = answered(['full', 'full']);
    await clock.advanceAsync(1_000);
    expect(seen).toEqual({ acks: 0, sent: 2 });
  });

  it.each<BrokerRefusal>(['not_allowed', 'too_large', 'bad_letter'])(
    'that is refused for good (%s) is not sent again',
    async (reason) => {
      const { clock, seen } = answered([reason]);
      await clock.advanceAsync(600_000);
      expect(seen).toEqual({ acks: 1, sent: 1 });
    },
  );

  it.each<BrokerRefusal>(['lost', 'closed', 'replaced', 'unauthorized'])(
    'whose link has ended (%s) goes by the next one, once #broker-once',
    async (reason) => {
      const { clock, seen, call } = answered([reason]);
      await clock.advanceAsync(600_000);
      expect(seen).toEqual({ acks: 0, sent: 1 });
      const next = aCall([]);
      call.goOnBy(next.link);
      await clock.advanceAsync(1_000);
      expect([next.seen.sent, seen]).toEqual([1, { acks: 1, sent: 1 }]);
      call.goOnBy(next.link);
      await clock.advanceAsync(1_000);
      expect(next.seen.sent).toBe(1);
    },
  );

  it('of a call that runs when its link ends goes by the next one #broker-once', async () => {
    const { clock, seen, call } = aCall(['lost']);
    const next = aCall([]);
    call.goOnBy(next.link);
    call.answer(['done']);
    await clock.advanceAsync(1_000);
    expect([seen, next.seen.sent]).toEqual([{ acks: 1, sent: 0 }, 1]);
  });
});

describe('a call that is asked for again', () => {
  it('lets go of the earlier letter at once, and holds the last until it is answered #no-growth', async () => {
    const { clock, call, link } = aCall([]);
    const letters = Array.from({ length: 5 }, () => aCall([]));
    for (const { mail } of letters) call.askedAgain(link, mail);
    const acks = () => letters.map(({ seen }) => seen.acks);
    expect(acks()).toEqual([1, 1, 1, 1, 0]);
    call.answer(['done']);
    await clock.advanceAsync(1_000);
    expect(acks()).toEqual([1, 1, 1, 1, 1]);
  });

  it('has one answer on its way, however often it is asked for, and one more for the last #no-growth', async () => {
    const { clock, call, link, seen } = aCall([]);
    call.answer(['done']);
    for (let times = 0; times < 100; times += 1) call.askedAgain(link, aCall([]).mail);
    expect(seen.sent).toBe(1);
    await clock.advanceAsync(1_000);
    expect(seen.sent).toBe(2);
  });
});
