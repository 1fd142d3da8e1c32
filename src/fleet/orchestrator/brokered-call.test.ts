// The answer to a worker's request, when the broker does not take it: it is sent again a few times, and then its letter
// is let go, so that a worker which reads nothing does not keep those of others waiting.

import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { BrokerError, type BrokerRefusal } from '../../broker/broker-error.ts';
import type { Link, Mail } from '../../broker/contract.ts';
import { BrokeredCall } from './brokered-call.ts';

function answered(refusals: readonly BrokerRefusal[]) {
  const clock = manualClock();
  const seen = { acks: 0, sent: 0 };
  const link: Partial<Link> = {
    deliver: async () => {
      const reason = refusals[seen.sent] ?? refusals.at(-1);
      seen.sent += 1;
      if (reason !== undefined) throw new BrokerError(reason, 'as the test says');
    },
  };
  const mail: Partial<Mail> = {
    id: 'call',
    from: { mailbox: 'ann.mcp', seat: 's', role: 'reader' },
    isKept: true,
    ack: () => {
      seen.acks += 1;
    },
  };
  const ends = {
    answered: () => {},
    withdrawn: () => {},
    caught: (error: unknown) => {
      throw error;
    },
  };
  const call = new BrokeredCall('ann.mcp call', link as Link, mail as Mail, clock, ends);
  call.answer(['done']);
  return { clock, seen };
}

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
