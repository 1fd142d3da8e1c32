import { describe, expect, it } from 'vitest';
import { afterDeath, type Deaths, maxDeaths, windowMs } from './restarts.ts';

describe('a serving process that has died', () => {
  it('is started again at once, then later and later, and after five deaths in a minute not at all', () => {
    let deaths: Deaths = [];
    const delays: number[] = [];
    for (let at = 1; at <= maxDeaths; at += 1) {
      const after = afterDeath(deaths, at);
      if (after.kind === 'give-up') throw new Error('too early');
      deaths = after.deaths;
      delays.push(after.delayMs);
    }
    expect(delays).toEqual([0, 250, 500, 1_000, 2_000]);
    expect(afterDeath(deaths, 6)).toEqual({ kind: 'give-up' });
    expect(afterDeath(deaths, 6 + windowMs)).toMatchObject({ kind: 'start-again', delayMs: 0 });
  });
});
