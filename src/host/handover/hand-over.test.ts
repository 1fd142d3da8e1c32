import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../../test/support/fake-gateway.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { crossing, nextHost } from '../../../test/support/next-host.ts';
import { type Script, text, tool } from '../../../test/support/scripted-server.ts';

const plain: Script = {
  tools: [tool('t'), tool('slow')],
  prompts: [{ name: 'p' }],
  on: {
    'tools/call': ({ params }) => (params['name'] === 'slow' ? undefined : text('done')),
  },
};

const call = (name: string, args: object = {}) => ({ name, arguments: args });

describe('a host that is handed over', () => {
  it('is the same host in the next process, with the same processes #rollout', async () => {
    const scripts = { a: plain, b: { ...plain, era: 'modern' as const }, c: plain };
    const config = { a: { lazy: false } };
    const first = newGateway(scripts, { config });
    const { host, clock, servers } = first;
    host.startPinned();
    await host.call('b', 't');
    await host.call('b', 't');
    await clock.advanceAsync(5_000);
    const before = host.status();
    const next = await nextHost(first, scripts, { config });
    expect({ ...next.host.status(), uptimeMs: before.uptimeMs }).toEqual(before);
    expect(next.host.status().uptimeMs).toBeGreaterThanOrEqual(5_000);
    expect(next.host.generation).toBe(2);
    expect([servers.a, servers.b, servers.c].map(({ children }) => children.length)).toEqual([
      1, 1, 0,
    ]);
    expect(await next.host.call('b', 't')).toEqual(text('done'));
    // Neither greeted nor listed again.
    expect(servers.a.heard('initialize')).toHaveLength(1);
    expect(servers.a.heard('tools/list')).toHaveLength(1);
    const taken = next.events.filter(({ kind }) => kind === 'ready' || kind === 'starting');
    expect(taken.map(({ server, ...event }) => [server, event])).toEqual([
      ['a', expect.objectContaining({ kind: 'ready', generation: 1, isAdopted: true })],
      ['b', expect.objectContaining({ kind: 'ready', generation: 1, isAdopted: true })],
    ]);
  });

  it('uses and ends no server before it may: another process may be given them instead #rollout', async () => {
    const first = newGateway({ a: plain, gone: plain });
    for (const name of ['a', 'gone'] as const) await first.host.call(name, 't');
    const { handed, connections, link } = await crossing(first);
    let begin = () => {};
    const mayBegin = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const held = [...connections].map(([id, one]) => [id, { ...one, mayBegin }] as const);
    const clock = new ManualClock(first.clock.wallNow(), 5_000);
    const next = newGateway({ a: plain }, { store: first.store, former: first, clock });
    const restoring = next.host.restore({ ...handed, connections: new Map(held), link });
    const call = next.host.call('a', 't');
    await clock.advanceAsync(1_000);
    const { a, gone } = first.servers;
    expect([a.heard('tools/call').length, gone.child.isGone]).toEqual([1, false]);
    begin();
    await clock.advanceAsync(0);
    expect(await call).toEqual(text('done'));
    await clock.advanceAsync(30_000);
    await Promise.all([restoring.adopted, restoring.ended]);
    expect([a.children.length, gone.child.isGone]).toEqual([1, true]);
  });

  it('three times in a row', async () => {
    const scripts = { a: plain };
    const first = newGateway(scripts);
    await first.host.call('a', 't');
    const second = await nextHost(first, scripts);
    await second.host.call('a', 't');
    const third = await nextHost(second, scripts);
    const fourth = await nextHost(third, scripts);
    expect(await fourth.host.call('a', 't')).toEqual(text('done'));
    expect(fourth.host.generation).toBe(4);
    expect(fourth.host.status().calls.total).toBe(3);
    expect(first.servers.a.children).toHaveLength(1);
  });

  it('keeps the idle time that has passed', async () => {
    const scripts = { a: plain };
    const config = { a: { keepAliveMs: 10_000 } };
    const first = newGateway(scripts, { config });
    await first.host.call('a', 't');
    await first.clock.advanceAsync(6_000);
    const next = await nextHost(first, scripts, { config });
    await next.clock.advanceAsync(3_000);
    expect(first.servers.a.child.isGone).toBe(false);
    await next.clock.advanceAsync(1_500);
    expect(first.servers.a.child.isGone).toBe(true);
    expect(restartsOf(next)).toBe(0);
  });

  it('is in use as long as a call of the process before runs there, however long that takes #rollout', async () => {
    const scripts = { a: plain };
    const config = { a: { keepAliveMs: 10_000 } };
    const first = newGateway(scripts, { config });
    const slow = first.legacy().request('tools/call', call('a__slow'));
    await settled();
    const next = await nextHost(first, scripts, { config });
    await next.clock.advanceAsync(60_000);
    const { child } = first.servers.a;
    expect(child.isGone).toBe(false);
    child.answer(child.last('tools/call'), text('late'));
    await settled();
    expect(slow.result).toEqual(text('late'));
    await next.clock.advanceAsync(11_000);
    expect(child.isGone).toBe(true);
  });

  it('is idle out by the next process only', async () => {
    const scripts = { a: plain };
    const config = { a: { keepAliveMs: 10_000 } };
    const first = newGateway(scripts, { config });
    await first.host.call('a', 't');
    await nextHost(first, scripts, { config });
    await first.clock.advanceAsync(60_000);
    expect(first.servers.a.child.isGone).toBe(false);
  });

  it('keeps an open breaker open for the time that is left #breaker', async () => {
    const failing: Script = { ...plain, on: { 'tools/call': (_heard, child) => child.exit() } };
    const scripts = { a: failing };
    const config = { a: { circuit: { threshold: 2, resetMs: 30_000 } } };
    const first = newGateway(scripts, { config });
    for (let count = 0; count < 2; count++) {
      await first.host.call('a', 't').catch(() => {});
      await first.clock.advanceAsync(2_000);
    }
    const before = first.host.status().servers[0];
    expect(before).toMatchObject({ circuit: 'open', restarts: 2, generation: 2 });
    const next = await nextHost(first, scripts, { config });
    expect(next.host.status().servers[0]).toEqual(before);
    await expect(next.host.call('a', 't')).rejects.toMatchObject({ code: 'circuit_open' });
    first.servers.a.script = plain;
    await next.clock.advanceAsync((before?.nextAttemptAt ?? 0) - next.clock.wallNow() - 1);
    await expect(next.host.call('a', 't')).rejects.toMatchObject({ code: 'circuit_open' });
    await next.clock.advanceAsync(1);
    const probe = next.host.call('a', 't');
    await settled();
    expect(await probe).toEqual(text('done'));
    expect(next.host.find('a').supervisor.generation).toBe(3);
  });

  it('stays ejected, and comes back by a reload under the next generation #restart-budget', async () => {
    const scripts = {
      a: { on: { initialize: (_heard: unknown, child: { exit(): void }) => child.exit() } },
    };
    const config = { a: { restart: { max: 1 } } };
    const first = newGateway(scripts as never, { config }) as ReturnType<typeof newGateway<'a'>>;
    for (let count = 0; count < 4; count++) {
      const failed = first.host.call('a', 't').catch(() => {});
      await first.clock.advanceAsync(10_000);
      await failed;
    }
    const { generation, ejected } = first.host.status().servers[0] ?? {};
    expect(ejected).toBe(true);
    const next = await nextHost(first, { a: plain }, { config });
    next.servers.a.script = plain;
    expect(next.host.status().servers[0]).toMatchObject({
      ejected: true,
      state: 'ejected',
      generation,
    });
    await expect(next.host.call('a', 't')).rejects.toMatchObject({ code: 'ejected' });
    await next.host.reload('a');
    await next.host.call('a', 't');
    expect(next.host.find('a').supervisor.generation).toBe((generation ?? 0) + 1);
  });

  it('serves what was cached, to its principal only, for the time that is left', async () => {
    const scripts = { a: plain };
    const config = { a: { tools: { t: { cacheMs: 10_000 } } } };
    const first = newGateway(scripts, { config });
    await first.host.call('a', 't', { n: 1 });
    await first.clock.advanceAsync(4_000);
    const next = await nextHost(first, scripts, { config });
    expect(await next.host.call('a', 't', { n: 1 })).toEqual(text('done'));
    expect(next.host.cacheStats()).toMatchObject({ hits: 1, entries: 1 });
    expect(first.servers.a.heard('tools/call')).toHaveLength(1);
    await next.clock.advanceAsync(6_000);
    await next.host.call('a', 't', { n: 1 });
    expect(first.servers.a.heard('tools/call')).toHaveLength(2);
  });

  it('restarts only the server whose spec has changed, after its former process has ended', async () => {
    const scripts = { a: plain, b: plain };
    const first = newGateway(scripts);
    await first.host.call('a', 't');
    await first.host.call('b', 't');
    const config = { a: { args: ['--new'], lazy: false } };
    const next = await nextHost(first, scripts, { config });
    next.host.startPinned();
    await next.ended;
    await settled();
    const [old, present] = first.servers.a.children;
    expect([old?.isGone, present?.isGone]).toEqual([true, false]);
    expect(first.servers.b.children).toHaveLength(1);
    expect(next.host.find('a').supervisor.generation).toBe(2);
    expect(next.crossed.refused).toEqual([]);
  });

  it('does not start a changed server while a call is still under way at its former process', async () => {
    const scripts = { a: plain };
    const first = newGateway(scripts);
    const slow = first.legacy().request('tools/call', call('a__slow'));
    await settled();
    const next = await nextHost(first, scripts, { config: { a: { args: ['--new'] } } });
    const late = next.host.call('a', 't');
    await next.clock.advanceAsync(1_000);
    expect(first.servers.a.children).toHaveLength(1);
    const [old] = first.servers.a.children;
    old?.answer(old.last('tools/call'), text('late'));
    await settled();
    expect(slow.result).toEqual(text('late'));
    await next.clock.advanceAsync(1_000);
    expect(await late).toEqual(text('done'));
    expect(first.servers.a.children.map(({ isGone }) => isGone)).toEqual([true, false]);
  });

  it('starts a server that a config brings back later only after its former process has ended #rollout', async () => {
    const first = newGateway({ a: plain, b: plain });
    const slow = first.legacy().request('tools/call', call('a__slow'));
    await settled();
    const next = await nextHost(first as never, { b: plain }, { undeclared: plain });
    const mcpServers = { a: { command: '/bin/a', lazy: false }, b: { command: '/bin/b' } };
    await next.host.apply({ mcpServers });
    await next.clock.advanceAsync(1_000);
    expect(next.others?.children).toHaveLength(0);
    const [old] = first.servers.a.children;
    old?.answer(old.last('tools/call'), text('late'));
    await settled();
    expect(slow.result).toEqual(text('late'));
    await next.clock.advanceAsync(1_000);
    expect([old?.isGone, next.others?.children.length]).toEqual([true, 1]);
  });

  it('ends the process of a server that is no longer in the config', async () => {
    const first = newGateway({ a: plain, b: plain });
    await first.host.call('a', 't');
    await first.host.call('b', 't');
    const next = await nextHost(first as never, { b: plain });
    await next.ended;
    expect(first.servers.a.child.isGone).toBe(true);
    expect(first.servers.b.child.isGone).toBe(false);
  });

  it('lets a call end whose server is removed meanwhile', async () => {
    const first = newGateway({ a: plain });
    const slow = first.legacy().request('tools/call', call('a__slow'));
    await settled();
    const next = await nextHost(first as never, {});
    await next.clock.advanceAsync(1_000);
    const { child } = first.servers.a;
    expect(child.isGone).toBe(false);
    child.answer(child.last('tools/call'), text('late'));
    await settled();
    await next.clock.advanceAsync(10_000);
    await next.ended;
    expect(slow.result).toEqual(text('late'));
    expect(child.isGone).toBe(true);
  });
});

describe('the state of a host that cannot be read', () => {
  it('is refused as a whole', async () => {
    const first = newGateway({ a: plain });
    await first.host.call('a', 't');
    const next = newGateway({ a: plain });
    const taken = await first.host.handOver({ connection: () => ({ write: () => {} }) });
    const wrong = { ...taken.state, servers: [{ ...taken.state.servers[0], current: -1 }] };
    const before = next.host.status();
    for (const state of [wrong, { ...taken.state, version: 2 }, null]) {
      expect(() =>
        next.host.restore({ ...taken, state: state as never, connections: new Map() }),
      ).toThrow(expect.objectContaining({ code: 'internal' }));
    }
    expect(() =>
      next.host.restore({ ...taken, payload: Buffer.from('x'), connections: new Map() }),
    ).toThrow(expect.objectContaining({ code: 'internal' }));
    expect(next.host.status()).toEqual(before);
  });

  it('may name a connection that did not arrive: its server is started when it is needed', async () => {
    const scripts = { a: plain };
    const first = newGateway(scripts);
    await first.host.call('a', 't');
    const { state, payload } = await first.host.handOver({
      connection: () => ({ write: () => {} }),
    });
    const next = newGateway(scripts, { store: first.store });
    await next.host.restore({ state, payload, connections: new Map() }).adopted;
    expect(next.host.find('a').supervisor.phase.kind).toBe('idle');
    await next.host.call('a', 't');
    expect(next.host.find('a').supervisor.generation).toBe(2);
  });
});

function restartsOf({ host }: Pick<ReturnType<typeof newGateway>, 'host'>): number {
  return host.find('a').supervisor.restarts;
}
