import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { MemoryBusServer } from '../../test/support/memory-bus.ts';
import { Breaker } from '../supervise/breaker.ts';
import { BreakerNews } from './breaker-news.ts';

const secret = Buffer.alloc(32, 'secret');

function replicas(...specs: readonly (string | null)[]) {
  const server = new MemoryBusServer();
  const clock = new ManualClock();
  const errors: unknown[] = [];
  const policy = { threshold: 3, resetMs: 1_000, probeMs: 1_000 };
  const made = specs.map((spec, at) => {
    const breaker = new Breaker(clock, policy, (circuit) => news.changed(spec, circuit));
    const news = new BreakerNews({
      bus: server.member(),
      subjects: 'hf.test',
      id: `replica${at}`,
      secret,
      servers: () => [{ spec, told: (circuit) => breaker.told(circuit) }],
      caught: (error) => errors.push(error),
    });
    return breaker;
  });
  return { made, server, clock, errors };
}

const turns = async () => {
  for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

const fail = (breaker: Breaker | undefined) => {
  for (let count = 0; count < 3; count += 1) breaker?.failed(breaker.currentPass);
};

describe('news of breakers', () => {
  it('open the breaker of the same remote server at other replicas, and close it #replicas', async () => {
    const { made, clock } = replicas('docs', 'docs', 'other');
    const [one, two, other] = made;
    fail(one);
    await turns();
    expect(made.map(({ circuit }) => circuit)).toEqual(['open', 'open', 'closed']);
    expect([other?.failures, two?.failures]).toEqual([0, 3]);
    clock.advance(1_000);
    const probe = one?.ask();
    expect(probe?.kind).toBe('admit');
    if (probe?.kind === 'admit') one?.succeeded(probe.pass);
    await turns();
    expect(made.map(({ circuit }) => circuit)).toEqual(['closed', 'closed', 'closed']);
  });

  it('say nothing of a server that is the process of one replica #replicas', async () => {
    const { made } = replicas(null, null);
    fail(made[0]);
    await turns();
    expect(made.map(({ circuit }) => circuit)).toEqual(['open', 'closed']);
  });

  it('that cannot be read are ignored #replicas', async () => {
    const { made, server, errors } = replicas('docs');
    for (const body of ['', 'null', '{"from":1}', '{"from":"a","server":"b","circuit":"odd"}']) {
      server.deliver('hf.test.breaker', Buffer.from(body), () => {});
    }
    await turns();
    expect([made[0]?.circuit, errors]).toEqual(['closed', []]);
  });
});
