// What the people of an orchestrator are told about its link: that it is lost, and is tried again; nothing while the
// gateway itself ends.

import { describe, expect, it } from 'vitest';
import { manualClock, settled } from '../../../test/support/manual-clock.ts';
import { BrokerError } from '../../broker/broker-error.ts';
import type { Link } from '../../broker/contract.ts';
import type { BrokerFront } from './broker-front.ts';
import { Orchestrator } from './orchestrator.ts';

/** What is told when its link ends. */
async function toldOfLoss(isEnding: boolean): Promise<readonly string[]> {
  const told: string[] = [];
  let end: (why: BrokerError) => void = () => {};
  const link: Partial<Link> = {
    ended: new Promise((resolve) => {
      end = resolve;
    }),
    close: async () => {},
  };
  const front: Partial<BrokerFront> = { serve: async () => {} };
  await using orchestrator = Orchestrator.start({
    address: { url: 'ws://broker/', as: 'boss' },
    openLink: async () => link as Link,
    front: front as BrokerFront,
    clock: manualClock(),
    random: () => 0,
    report: (text) => void told.push(text),
    isEnding: () => isEnding,
    caught: (error) => {
      throw error;
    },
  });
  await settled();
  end(new BrokerError('lost', 'the broker ends'));
  await settled();
  expect(orchestrator.state).toMatchObject({
    state: 'lost',
    lastError: { text: 'the broker ends' },
  });
  return told;
}

describe('an orchestrator whose link ends', () => {
  it('says so, and that it tries again #fleet', async () => {
    expect(await toldOfLoss(false)).toEqual([
      'no link to the broker, trying again: the broker ends',
    ]);
  });

  it('says nothing while its gateway ends #fleet', async () => {
    expect(await toldOfLoss(true)).toEqual([]);
  });
});
