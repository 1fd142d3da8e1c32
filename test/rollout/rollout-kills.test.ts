// kill -9 in the middle of rollouts, in small: the same functions as `npm run rollouts`, two kills of each kind.

import { describe, expect, it } from 'vitest';
import { diceFrom } from '../support/pipelining-client.ts';
import { killed, killHolder } from './kills.ts';
import { type Phase, type Victim, victims } from './phases.ts';

const testMs = 120_000;

/** The command has every phase for each. */
const plans: Readonly<Record<Victim, readonly Phase[]>> = {
  successor: ['starting', 'taking over'],
  incumbent: ['handing over', 'serving'],
  both: ['starting', 'claimed'],
};

describe('kill -9 in the middle of a rollout', () => {
  it.each(victims)(
    'of the %s: it serves again, and nothing runs twice #rollout',
    async (victim) => {
      const numbers = diceFrom(victims.indexOf(victim) + 3);
      const dice = () => numbers(1_000) / 1_000;
      const found = await killed(victim, plans[victim], dice, () => {});
      expect(found.findings).toEqual([]);
      // One that has met another phase than it was meant for is done again.
      expect(found.kills.length).toBeGreaterThanOrEqual(2);
      expect(found.kills.filter(({ back }) => typeof back !== 'number')).toEqual([]);
    },
    testMs,
  );

  it('of the pid-holder: nothing is left, and windows go on with a new instance #rollout #no-orphans', async () => {
    expect(await killHolder()).toEqual([]);
  });
});
