// The crash test of the NATS store in small: the same function as `npm run crashtest`, a few kills.

import { describe, expect, it } from 'vitest';
import { Dice } from '../../support/dice.ts';
import { Tally } from '../tally.ts';
import { acknowledgedSteps, killServers, refusedSteps, serverKills } from './server-kills.ts';

describe('a NATS server that is killed under writers', () => {
  it('has everything that it had acknowledged, and nothing that was removed #store-nats #durable', async () => {
    const tally = new Tally();
    const { signal } = new AbortController();
    await killServers(10, { tally, dice: new Dice('nats/1'), signal });
    expect(tally.findings).toEqual([]);
    expect(tally.triedOf(serverKills)).toBe(10);
    expect(tally.triedOf(acknowledgedSteps)).toBeGreaterThan(200);
    expect(tally.triedOf(refusedSteps)).toBeGreaterThan(20);
  }, 120_000);
});
