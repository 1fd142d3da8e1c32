// The proof of rollouts in small: the same load and functions as `npm run rollouts`, five of them. Pauses, the rate
// and memory are judged by the command.

import { describe, expect, it } from 'vitest';
import { diceFrom } from '../support/pipelining-client.ts';
import { proveRollouts } from './rollouts.ts';

/** Three gateways and ten clients start, beside whatever else runs. */
const testMs = 120_000;

describe('five rollouts under load', () => {
  it(
    'lose no call, run none twice, fail none, and need no new hello #rollout #no-orphans',
    async () => {
      const numbers = diceFrom(7);
      const dice = () => numbers(1_000) / 1_000;
      const { figures, findings } = await proveRollouts({
        ...{ rollouts: 5, rate: 80, dice },
        progress: () => {},
      });
      expect(findings).toEqual([]);
      const judged = figures.filter(({ name }) => !/pause|a second|growth/.test(name));
      expect(judged.filter(({ isMet }) => isMet === false)).toEqual([]);
      expect(figures.find(({ name }) => name === 'answered')?.value).toBeGreaterThan(100);
    },
    testMs,
  );
});
