import { describe, expect, it } from 'vitest';
import { newGateway } from '../../../test/support/fake-gateway.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { crossing, nextHost, type World } from '../../../test/support/next-host.ts';
import { type Script, text, tool } from '../../../test/support/scripted-server.ts';

const plain: Script = { tools: [tool('t')], on: { 'tools/call': () => text('done') } };
const failing: Script = { ...plain, on: { 'tools/call': (_heard, child) => child.exit() } };

/** The next process goes on so long after the state was written down. */
async function lateHost(
  first: World<'a'>,
  script: Script,
  config: Readonly<Record<string, object>>,
  { machine, lateMs }: { readonly machine: { now: number }; readonly lateMs: number },
) {
  const { handed, connections, link } = await crossing(first);
  machine.now += lateMs;
  const clock = new ManualClock(first.clock.wallNow() + lateMs, 5_000);
  const options = {
    config,
    store: first.store,
    former: first,
    clock,
    machineNow: () => machine.now,
  };
  const next = newGateway({ a: script }, options);
  const restoring = next.host.restore({ ...handed, connections, link });
  await clock.advanceAsync(0);
  await restoring.adopted;
  return next;
}

describe('a host that goes on a while after it was written down', () => {
  it('gives out a cached result no longer than it holds #rollout #cache-rules', async () => {
    const machine = { now: 70_000 };
    const config = { a: { tools: { t: { cacheMs: 10_000 } } } };
    const first = newGateway({ a: plain }, { config, machineNow: () => machine.now });
    await first.host.call('a', 't', { n: 1 });
    const next = await lateHost(first, plain, config, { machine, lateMs: 7_000 });
    await next.clock.advanceAsync(2_999);
    await next.host.call('a', 't', { n: 1 });
    expect(first.servers.a.heard('tools/call')).toHaveLength(1);
    await next.clock.advanceAsync(1);
    await next.host.call('a', 't', { n: 1 });
    expect(first.servers.a.heard('tools/call')).toHaveLength(2);
  });

  it('counts failures by their age, and keeps a breaker open no longer #rollout #restart-budget #breaker', async () => {
    const machine = { now: 0 };
    const config = {
      a: { circuit: { threshold: 2, resetMs: 30_000 }, restart: { max: 3, windowMs: 20_000 } },
    };
    const first = newGateway({ a: failing }, { config, machineNow: () => machine.now });
    for (let count = 0; count < 2; count++) {
      await first.host.call('a', 't').catch(() => {});
      await first.clock.advanceAsync(2_000);
    }
    const [before] = first.host.status().servers;
    expect(before).toMatchObject({ circuit: 'open', restarts: 2 });
    const next = await lateHost(first, plain, config, { machine, lateMs: 15_000 });
    expect(next.host.status().servers[0]).toMatchObject({
      circuit: 'open',
      nextAttemptAt: before?.nextAttemptAt,
    });
    await next.clock.advanceAsync(5_000);
    expect(next.host.status().servers[0]?.restarts).toBe(0);
  });
});

describe('cached results of a host that is handed over', () => {
  const config = { a: { tools: { t: { cacheMs: 60_000 } } } };

  it.each([
    ['another program', { a: { ...config.a, args: ['--new'] } }],
    ['another word about the tool', { a: { tools: { t: { cacheMs: 30_000 } } } }],
  ])('are not given out under a config with %s #rollout #cache-rules', async (_what, changed) => {
    const first = newGateway({ a: plain }, { config });
    await first.host.call('a', 't');
    const next = await nextHost(first, { a: plain }, { config: changed });
    expect(next.host.cacheStats().entries).toBe(0);
  });

  it('are given out under a config that says the same of them', async () => {
    const first = newGateway({ a: plain }, { config });
    await first.host.call('a', 't');
    const next = await nextHost(first, { a: plain }, { config: { a: { ...config.a, queue: 3 } } });
    expect(next.host.cacheStats().entries).toBe(1);
  });
});
