// An orchestrator that is killed while a call runs whose letter is over: nothing brings that letter to the next process.
// The worker learns soon that the outcome is unknown, and the call is not repeated. With the real `holdfast serve` on both
// brokers; the worker is in this process, so that its letter may live for a moment only.

import { describe, expect, it } from 'vitest';
import { linkOpener } from '../../src/broker/open-link.ts';
import { workerKinds } from '../../src/fleet/mail-kinds.ts';
import { Channel } from '../../src/fleet/worker/channel.ts';
import type { CallFailure } from '../../src/fleet/worker/open-call.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { faultyStdio } from '../support/faulty.ts';
import { Fleet } from '../support/fleet.ts';
import { executions } from '../support/ledger.ts';
import { playedRequest } from '../support/played-fleet.ts';
import { newFolder } from '../support/sqlite-place.ts';
import { until } from '../support/until.ts';

const caught = (error: unknown): never => {
  throw error;
};

function workerOf({ broker }: Fleet): Channel {
  const clock = systemClock;
  return new Channel({
    openLink: linkOpener({
      ...{ url: broker.url, credential: broker.credential('ann'), holder: 'worker', clock, caught },
      ...{ seat: 'window', kinds: workerKinds, keepMs: 60_000, report: () => {} },
    }),
    ...{ to: 'boss', clock, caught, random: () => 0, maxResponseBytes: 1_000_000 },
    missed: () => {},
    gaveUp: () => {},
    // The next process needs some seconds to start.
    policy: { firstWaitMs: 20, longestWaitMs: 40, lastTryMs: 20, totalMs: 60_000 },
  });
}

function answered(channel: Channel, id: string, body: string, ttlMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const failed = ({ cause }: CallFailure) => reject(cause);
    channel.send(
      { id, body: Buffer.from(body), isKept: true, ttlMs },
      {
        ...{ sent: () => {}, news: () => {}, failed },
        answered: (answer) => resolve(answer.toString()),
      },
    );
  });
}

function hangs(nonce: string): string {
  const args = { nonce, key: 'k', amount: 1, fault: { kind: 'hang', effect: true } };
  return playedRequest('own__add').replace(
    '"name":',
    `"arguments":${JSON.stringify(args)},"name":`,
  );
}

const livesMs = 8_000;

describe.each(['embedded', 'nats'] as const)('an orchestrator at the broker %s', (name) => {
  it('that is killed when the letter of a call is over: the worker is told that its outcome is unknown, and it ran once #broker-once', async () => {
    const ledger = `${newFolder()}/ledger`;
    await using fleet = await Fleet.start(name, {
      mcpServers: { own: faultyStdio({ ledger }) },
      roles: { reader: { allow: ['own/*'] } },
    });
    await using channel = workerOf(fleet);
    const endsAt = systemClock.now() + livesMs;
    const answer = answered(channel, 'call-1', hangs('once'), livesMs);
    await until(() => executions(ledger, 'once') === 1, 'it runs');
    await until(() => systemClock.now() > endsAt, 'its letter is over', livesMs * 2);
    await fleet.restartOrchestrator();
    expect(await answer).toContain('outcome_unknown');
    expect(executions(ledger, 'once')).toBe(1);
  }, 120_000);
});
