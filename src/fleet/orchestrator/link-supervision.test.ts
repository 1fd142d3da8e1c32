// The supervision of an orchestrator's link in thousands of random orders, on a clock that the test moves: the shipped
// orchestrator and its machine, with links that are played. One opening at a time; waits within their bounds, which
// double and begin anew after a link that has lasted; what is refused for good is tried every half minute; after a
// shutdown nothing is opened.

import { describe, expect, it } from 'vitest';
import { Dice } from '../../../test/support/dice.ts';
import { manualClock, settled } from '../../../test/support/manual-clock.ts';
import { BrokerError } from '../../broker/broker-error.ts';
import type { Link } from '../../broker/contract.ts';
import type { BrokerFront } from './broker-front.ts';
import { usualSupervision as policy } from './link-supervision.ts';
import { Orchestrator } from './orchestrator.ts';

interface Life {
  /** When it was opened. */
  readonly at: number;
  endedAt: number | undefined;
  isPermanent: boolean;
}

/** The wait that must follow these lives, at most; jitter takes up to a fifth. */
function longestWait(lives: readonly Life[]): number {
  let failures = 0;
  let wait = 0;
  for (const { at, endedAt = at, isPermanent } of lives) {
    if (isPermanent) {
      failures = 0;
      wait = policy.refusedWaitMs;
      continue;
    }
    if (endedAt - at >= policy.goodAfterMs) failures = 0;
    wait = Math.min(policy.firstWaitMs * 2 ** failures, policy.longestWaitMs);
    failures += 1;
  }
  return wait;
}

async function lived(seed: number): Promise<readonly string[]> {
  const clock = manualClock(1_000);
  const dice = new Dice(`supervision ${seed}`);
  const broken: string[] = [];
  const lives: Life[] = [];
  let opening = 0;
  let links = 0;
  let isShut = false;
  const ended = (life: Life, reason: 'lost' | 'unauthorized') => {
    life.endedAt = clock.now();
    life.isPermanent = reason === 'unauthorized';
    return new BrokerError(reason, 'as the test says');
  };
  const reason = () => (dice.chance(0.15) ? 'unauthorized' : 'lost');
  const openLink = (signal: AbortSignal): Promise<Link> => {
    const at = clock.now();
    if (isShut) broken.push(`opened at ${at}, after the shutdown`);
    if (opening + links > 0) broken.push(`opened at ${at} beside another`);
    const before = lives.at(-1);
    if (before?.endedAt !== undefined) {
      const most = longestWait(lives);
      const waited = at - before.endedAt;
      const least = before.isPermanent ? most : Math.floor(most * 0.8);
      if (waited > most || waited < least) broken.push(`waited ${waited} ms, not ${most}`);
    }
    const life: Life = { at, endedAt: undefined, isPermanent: false };
    lives.push(life);
    opening += 1;
    return new Promise((resolve, reject) => {
      const timer = clock.after(dice.between(0, 5_000), () => {
        signal.removeEventListener('abort', aborted);
        opening -= 1;
        if (dice.chance(0.5)) return reject(ended(life, reason()));
        links += 1;
        const end = new Promise<BrokerError>((done) => {
          clock.after(dice.between(1, dice.chance(0.5) ? 9_000 : 60_000), () => {
            links -= 1;
            done(ended(life, reason()));
          });
        });
        resolve({ ended: end, close: async () => {} } as Partial<Link> as Link);
      });
      const aborted = () => {
        timer[Symbol.dispose]();
        opening -= 1;
        reject(new BrokerError('closed', 'not opened'));
      };
      signal.addEventListener('abort', aborted);
    });
  };
  const front: Partial<BrokerFront> = { serve: async () => {} };
  const orchestrator = Orchestrator.start({
    address: { url: 'ws://broker.invalid', as: 'boss' },
    openLink,
    front: front as BrokerFront,
    clock,
    random: () => dice.throw(),
    report: () => {},
    isEnding: () => false,
    caught: (error) => void broken.push(String(error)),
  });
  for (let step = 0; step < 30; step += 1) await clock.advanceAsync(dice.between(1, 20_000));
  isShut = true;
  orchestrator.close().catch((error: unknown) => broken.push(String(error)));
  await settled();
  await clock.advanceAsync(300_000);
  if (orchestrator.state.state !== 'closed') broken.push('it is not closed');
  return broken.map((text) => `seed ${seed}: ${text}`);
}

describe("an orchestrator's link that comes and goes", () => {
  it('is opened again within its bounds and never after the end, in 2,000 random orders #backoff', async () => {
    const broken: string[] = [];
    for (let seed = 1; seed <= 2_000 && broken.length < 10; seed += 1) {
      for (const text of await lived(seed)) broken.push(text);
    }
    expect(broken).toEqual([]);
  }, 120_000);
});
