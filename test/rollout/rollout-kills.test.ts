// kill -9 in the middle of rollouts, in small: the same functions as `npm run rollouts`, two kills of each kind.

import { describe, expect, it } from 'vitest';
import { diceFrom } from '../support/pipelining-client.ts';
import { killed, killHolder, victims } from './kills.ts';

const testMs = 120_000;

describe('kill -9 in the middle of a rollout', () => {
  it.each(victims)(
    'of the %s: it serves again, and nothing runs twice #rollout',
    async (victim) => {
      const numbers = diceFrom(victims.indexOf(victim) + 3);
      const dice = () => numbers(1_000) / 1_000;
      const found = await killed(victim, 2, dice, () => {});
      expect(found.findings).toEqual([]);
      expect(found.backMs).toHaveLength(2);
    },
    testMs,
  );

  it('of the pid-holder: nothing is left, and windows go on with a new instance #rollout #no-orphans', async () => {
    expect(await killHolder()).toEqual([]);
  });
});
