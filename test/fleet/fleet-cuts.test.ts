// The proof of cut links in small: the same functions as `npm run fleet`, each damage once at the workers or the
// orchestrator, none of them long.

import { describe, expect, it } from 'vitest';
import { cutLinks } from './cuts.ts';

describe.each(['command', 'nats'] as const)('a fleet on the broker %s', (broker) => {
  it('loses nothing that was answered and runs nothing twice when its links are cut, silent or slow #broker-once', async () => {
    const found = await cutLinks({
      broker,
      cuts: 4,
      workers: 2,
      hasLong: false,
      progress: () => {},
    });
    expect([found.lost, found.twice, found.hung]).toEqual([[], [], []]);
    expect(found.answered).toBeGreaterThan(80);
  }, 120_000);
});
