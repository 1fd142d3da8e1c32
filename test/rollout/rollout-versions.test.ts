// Rollouts between two different versions in small: the same function as `npm run rollouts`, once up and down.

import { expect, it } from 'vitest';
import { proveVersions } from './versions.ts';

const testMs = 120_000;

it(
  'another version takes over and the first one again, and one that reads other forms is refused #rollout',
  async () => {
    const { figures, findings } = await proveVersions({ turns: 1, progress: () => {} });
    expect(findings).toEqual([]);
    expect(figures.filter(({ isMet }) => isMet === false)).toEqual([]);
  },
  testMs,
);
