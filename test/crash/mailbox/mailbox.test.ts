// The crash test of the mailbox in small: the same functions as `npm run crashtest`, a few of each.

import { describe, expect, it } from 'vitest';
import { Dice } from '../../support/dice.ts';
import { straceRefusal } from '../sqlite/traced.ts';
import { Tally } from '../tally.ts';
import { killBrokers } from './broker-kills.ts';
import {
  brokerKills,
  confirmedLetters,
  failingLives,
  mailboxPowerCuts,
  settledLetters,
  struckKills,
} from './options.ts';
import { cutPowerOfBroker } from './power-cuts.ts';

const { signal } = new AbortController();
const canTrace = straceRefusal() === undefined;

describe('a broker', () => {
  it('that is killed under load, or whose disk fails, loses nothing that it has confirmed, and brings back nothing that it knew to be done #broker-durable', async () => {
    const tally = new Tally();
    await killBrokers(9, { tally, dice: new Dice('mailbox/1'), signal });
    expect(tally.findings).toEqual([]);
    expect(tally.triedOf(brokerKills)).toBe(9);
    expect(tally.triedOf(confirmedLetters)).toBeGreaterThan(300);
    expect(tally.triedOf(settledLetters)).toBeGreaterThan(100);
    if (!canTrace) return;
    expect(tally.triedOf(struckKills)).toBeGreaterThan(0);
    expect(tally.triedOf(failingLives)).toBeGreaterThan(0);
  }, 120_000);

  it.runIf(canTrace)(
    'whose power is cut has lost nothing that it has confirmed #broker-durable',
    async () => {
      const tally = new Tally();
      await cutPowerOfBroker({ tally, dice: new Dice('power/1'), signal, every: 40 });
      expect(tally.findings).toEqual([]);
      expect(tally.triedOf(mailboxPowerCuts)).toBeGreaterThan(8);
    },
    120_000,
  );
});
