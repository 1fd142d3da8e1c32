// An orchestrator that has stood still, on a real broker: what lay on its socket is not read, and the next link gets what
// is allowed then. Only its clock is played.

import { describe, expect, it } from 'vitest';
import { ReadMail } from '../../../test/support/broker-suite/read-mail.ts';
import { type EmbeddedBroker, startEmbeddedBroker } from '../../../test/support/embedded-broker.ts';
import type { Clock } from '../../kernel/clock.ts';
import { systemClock } from '../../kernel/system-clock.ts';
import type { Link } from '../contract.ts';
import { openSocketLink } from './socket-link.ts';
import { stalledAfterMs } from './stall-watch.ts';

/** It leaps, and its timers come when the test says so. */
class LeapingClock implements Clock {
  leap = { now: 0, wallNow: 0 };
  /** Those of one test. */
  readonly #tasks = new Set<() => void>();
  now = () => systemClock.now() + this.leap.now;
  wallNow = () => systemClock.wallNow() + this.leap.wallNow;

  after(_ms: number, task: () => void): Disposable {
    this.#tasks.add(task);
    return { [Symbol.dispose]: () => void this.#tasks.delete(task) };
  }

  fire(): void {
    for (const task of [...this.#tasks]) task();
  }
}

function openBoss({ url }: EmbeddedBroker, clock: Clock): Promise<Link> {
  const options = { url, secret: 'boss', seat: 'stalled', clock };
  return openSocketLink(options, new AbortController().signal);
}

function send(link: Link, id: string): Promise<void> {
  return link.deliver({ id, to: 'boss', kind: 'k', body: Buffer.from(id) });
}

const leaps = [
  ['its process', { now: stalledAfterMs, wallNow: stalledAfterMs }],
  ['its machine', { now: 0, wallNow: stalledAfterMs }],
] as const;

describe('an orchestrator that has stood still', () => {
  it.each(leaps)(
    'with %s begins nothing of a worker that was revoked meanwhile, and everything else by its next link #broker-identity',
    async (_what, leap) => {
      await using broker = await startEmbeddedBroker();
      const clock = new LeapingClock();
      const boss = await openBoss(broker, clock);
      const mail = await ReadMail.of(boss, 'k');
      const [ann, bob] = [await broker.link('ann'), await broker.link('bob')];
      clock.leap = leap;
      await Promise.all([send(ann, 'of-ann'), send(bob, 'of-bob')]);
      expect((await boss.ended).reason).toBe('lost');
      expect(mail.all).toEqual([]);
      broker.revoke('ann');
      const next = await ReadMail.of(await broker.link('boss', 'stalled'), 'k');
      expect(await next.texts(1)).toEqual(['of-bob']);
    },
  );

  it('notices it also if nothing came', async () => {
    await using broker = await startEmbeddedBroker();
    const clock = new LeapingClock();
    const boss = await openBoss(broker, clock);
    clock.leap = leaps[0][1];
    clock.fire();
    expect((await boss.ended).reason).toBe('lost');
  });
});
