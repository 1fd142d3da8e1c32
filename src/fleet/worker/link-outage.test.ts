// A broker that is away for some time, on a clock that the test moves: what becomes of a call that runs, and of the link of
// a worker that waits for nothing.

import { describe, expect, it } from 'vitest';
import { type ManualClock, manualClock, settled } from '../../../test/support/manual-clock.ts';
import { BrokerError } from '../../broker/broker-error.ts';
import type { Link, Mail } from '../../broker/contract.ts';
import { Channel } from './channel.ts';
import { usualReconnection as policy } from './reconnection.ts';

/** A channel over one link and, from some time after its loss on, another. */
function channelOver(clock: ManualClock, awayMs: number, random: number) {
  let opened = 0;
  let backAt = 0;
  let answer: (mail: Mail) => void = () => {};
  let end: (why: BrokerError) => void = () => {};
  const gaveUp: BrokerError[] = [];
  /** What the orchestrator has and will answer; one call. */
  let kept: string | undefined;
  let present: readonly string[] = ['boss'];
  const link = (): Partial<Link> => ({
    ended: new Promise((resolve) => {
      end = resolve;
    }),
    receive: async (kind, reader) => {
      if (kind === 'mcp-reply') answer = reader;
    },
    deliver: async ({ about }) => {
      kept = about;
    },
    tell: () => {},
    present: async () => present,
    close: async () => {},
  });
  const channel = new Channel({
    openLink: async () => {
      opened += 1;
      if (clock.now() < backAt) throw new BrokerError('lost', 'it is away');
      return link() as Link;
    },
    ...{ to: 'boss', clock, random: () => random, maxResponseBytes: 1_000 },
    missed: () => {},
    gaveUp: (cause) => gaveUp.push(cause),
    caught: (error) => {
      throw error;
    },
  });
  return {
    channel,
    gaveUp,
    openings: () => opened,
    isThere: (mailboxes: readonly string[]) => {
      present = mailboxes;
    },
    lose: (reason: 'lost' | 'unauthorized') => {
      backAt = clock.now() + awayMs;
      end(new BrokerError(reason, 'as the test says'));
    },
    reply: () => {
      const from = { mailbox: 'boss', seat: 's', role: null };
      const about = kept ?? '';
      const mail = { id: 'r', from, kind: 'mcp-reply', about, ttlMs: undefined, isKept: true };
      answer({ ...mail, body: Buffer.from('done'), ack: () => {}, setAside: () => {} });
    },
  };
}

/** How it ended; at once where its answer is not waited for. */
function call(channel: Channel, isTold = true): Promise<string> {
  return new Promise((resolve) => {
    const request = { id: 'c', body: Buffer.from('x'), isKept: true, ttlMs: undefined };
    channel.send(request, {
      sent: () => {
        if (isTold) queueMicrotask(() => channel.cancel('c'));
        if (isTold) resolve('sent');
      },
      news: () => {},
      answered: () => resolve('answered'),
      failed: ({ reason, dispatched }) => resolve(`${reason} ${dispatched}`),
    });
  });
}

/** What becomes of a call that runs when the link is lost. */
async function overOutage(awayMs: number, random: number): Promise<string> {
  const clock = manualClock(1_000);
  const { channel, lose, reply } = channelOver(clock, awayMs, random);
  const outcome = call(channel, false);
  await settled();
  lose('lost');
  await clock.advanceAsync(policy.totalMs);
  reply();
  await channel.close();
  return await outcome;
}

describe('a link of a worker that is lost', () => {
  it.each([0, 0.999])(
    'answers a kept call over any outage shorter than its deadline, and none longer (jitter %d) #broker-once #backoff',
    async (random) => {
      const { totalMs, lastTryMs } = policy;
      for (let awayMs = 250; awayMs <= totalMs + 1_000; awayMs += 250) {
        const outcome = await overOutage(awayMs, random);
        const isBack = awayMs <= totalMs - lastTryMs;
        expect([awayMs, outcome]).toEqual([awayMs, isBack ? 'answered' : 'exhausted maybe']);
      }
    },
  );

  it('ends no call that the broker has taken, if its orchestrator was away for a moment after that #broker-once', async () => {
    const clock = manualClock(1_000);
    const { channel, lose, reply, isThere } = channelOver(clock, 0, 0);
    const outcome = call(channel, false);
    await settled();
    lose('lost');
    await clock.advanceAsync(1_000);
    isThere([]);
    await clock.advanceAsync(5_000);
    isThere(['boss']);
    await clock.advanceAsync(60_000);
    reply();
    expect(await outcome).toBe('answered');
    await channel.close();
  });

  it('is opened again at once though nothing waits, and given up after the deadline #broker-once', async () => {
    const clock = manualClock(1_000);
    const { channel, openings, gaveUp, lose } = channelOver(clock, 3_600_000, 0);
    await call(channel);
    lose('lost');
    await clock.advanceAsync(policy.totalMs - policy.lastTryMs - 1);
    expect([openings() > 5, gaveUp]).toEqual([true, []]);
    await clock.advanceAsync(policy.lastTryMs + 1);
    expect(gaveUp.map(({ reason }) => reason)).toEqual(['lost']);
    const tried = openings();
    await clock.advanceAsync(600_000);
    expect(openings()).toBe(tried);
  });

  it('is tried again where an unexpected error has kept it from being opened #broker-once', async () => {
    const clock = manualClock(1_000);
    const caught: unknown[] = [];
    const channel = new Channel({
      openLink: () => Promise.reject(new TypeError('as the test says')),
      ...{ to: 'boss', clock, random: () => 0, maxResponseBytes: 1_000 },
      missed: () => {},
      gaveUp: () => {},
      caught: (error) => caught.push(error),
    });
    const outcome = call(channel, false);
    await clock.advanceAsync(policy.totalMs);
    expect(await outcome).toBe('exhausted no');
    expect(caught.length).toBeGreaterThan(5);
  });

  it('is not tried again where it was ended for good #revoked', async () => {
    const clock = manualClock(1_000);
    const { channel, openings, gaveUp, lose } = channelOver(clock, 3_600_000, 0);
    const outcome = call(channel, false);
    await settled();
    lose('unauthorized');
    expect(await outcome).toBe('refused maybe');
    expect([openings(), gaveUp.map(({ reason }) => reason)]).toEqual([1, ['unauthorized']]);
  });
});
