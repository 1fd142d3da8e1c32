// The answer to a worker's request, when the broker does not take it: it is sent again a few times, and then its letter
// is let go, so that a worker which reads nothing does not keep those of others waiting.

import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { BrokerError, type BrokerRefusal } from '../../broker/broker-error.ts';
import type { Link, Mail } from '../../broker/contract.ts';
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
  const link: Partial<Link> = {
    deliver: async () => {
      const reason = refusals[seen.sent] ?? refusals.at(-1);
      seen.sent += 1;
      order.push('answer');
      if (reason !== undefined) throw new BrokerError(reason, 'as the test says');
    },
  };
  const mail: Partial<Mail> = {
    id: 'call',
    from: { mailbox: 'ann.mcp', seat: 's', role: 'reader' },
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
  const call = new BrokeredCall('ann.mcp call', link as Link, mail as Mail, clock, ends);
  return { clock, seen, order, call };
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
    'whose link has ended (%s) waits for its letter to come again #broker-once',
    async (reason) => {
      const { clock, seen } = answered([reason]);
      await clock.advanceAsync(600_000);
      expect(seen).toEqual({ acks: 0, sent: 1 });
    },
  );
});
