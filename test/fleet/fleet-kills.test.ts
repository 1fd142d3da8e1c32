// The fleet's proof in small: the same functions as `npm run fleet`, a few kills.

import { describe, expect, it } from 'vitest';
import { killParts } from './kills.ts';

describe.each(['command', 'nats'] as const)('a fleet on the broker %s', (broker) => {
  it('loses nothing that was answered and runs nothing twice when its parts are killed #broker-once #broker-durable', async () => {
    const found = await killParts({ broker, kills: 3, workers: 2, progress: () => {} });
    expect([found.lost, found.twice, found.hung]).toEqual([[], [], []]);
    expect(found.answered).toBeGreaterThan(60);
  });
});
