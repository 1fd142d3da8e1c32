// The proof of a damaged network in small: the same function as `npm run fleet`, each fault once, none of them long; TCP
// gives connections up sooner instead.

import { describe, expect, it } from 'vitest';
import { cutNetwork } from './network-cuts.ts';

describe('a fleet on two sides of a real network', () => {
  it('loses nothing that was answered and runs nothing twice when it is cut, loses one direction, or packets #broker-once', async ({
    skip,
  }) => {
    const found = await cutNetwork({
      cuts: 4,
      workers: 2,
      hasLong: false,
      isHurried: true,
      progress: () => {},
    });
    if (typeof found === 'string') return skip(`network namespaces were not tried: ${found}`);
    expect([found.lost, found.twice, found.hung]).toEqual([[], [], []]);
    expect(found.answered).toBeGreaterThan(80);
  }, 120_000);
});
