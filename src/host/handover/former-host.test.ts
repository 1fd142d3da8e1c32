import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../../test/support/fake-gateway.ts';
import { nextHost } from '../../../test/support/next-host.ts';
import { type Script, text, tool } from '../../../test/support/scripted-server.ts';

const plain: Script = {
  tools: [tool('t'), tool('slow')],
  prompts: [{ name: 'p' }],
  on: {
    'tools/call': ({ params }) => (params['name'] === 'slow' ? undefined : text('done')),
  },
};

const call = (name: string, args: object = {}) => ({ name, arguments: args });

describe('a host that was handed over', () => {
  it('ends the calls that were begun, each answered once #rollout #never-twice', async () => {
    const scripts = { a: plain };
    const first = newGateway(scripts);
    const peer = first.legacy();
    const slow = peer.request('tools/call', call('a__slow'));
    await settled();
    const next = await nextHost(first, scripts);
    const { child } = first.servers.a;
    expect(await next.host.call('a', 't')).toEqual(text('done'));
    child.answer(child.heardAs('tools/call')[0] as never, text('late'));
    await settled();
    expect(slow.result).toEqual(text('late'));
    expect(child.heardAs('tools/call')).toHaveLength(2);
    await first.host.close();
    await settled();
    expect(child.isGone).toBe(false);
    expect(await next.host.call('a', 't')).toEqual(text('done'));
  });

  it('sends what waited for its turn, over the next process', async () => {
    const scripts = { a: plain };
    const config = { a: { concurrency: 1 } };
    const first = newGateway(scripts, { config });
    const peer = first.legacy();
    peer.request('tools/call', call('a__slow'));
    const waiting = peer.request('tools/call', call('a__t'));
    await settled();
    await nextHost(first, scripts, { config });
    const { child } = first.servers.a;
    child.answer(child.heardAs('tools/call')[0] as never, text('late'));
    await settled();
    expect(waiting.result).toEqual(text('done'));
    expect(first.servers.a.children).toHaveLength(1);
  });

  it.each([0, 10_000])(
    'keeps its server until they have ended, whose idle time of %d ms begins then #rollout',
    async (keepAliveMs) => {
      const scripts = { a: plain };
      const config = { a: { keepAliveMs } };
      const first = newGateway(scripts, { config });
      const slow = first.legacy().request('tools/call', call('a__slow'));
      await settled();
      const next = await nextHost(first, scripts, { config });
      await next.clock.advanceAsync(60_000);
      next.host.find('a').supervisor.evict();
      await next.clock.advanceAsync(60_000);
      const { child } = first.servers.a;
      expect(child.isGone).toBe(false);
      child.answer(child.last('tools/call'), text('late'));
      await settled();
      expect(slow.result).toEqual(text('late'));
      await next.clock.advanceAsync(keepAliveMs + 1_000);
      expect(child.isGone).toBe(true);
      expect(restartsOf(next)).toBe(0);
    },
  );

  it('tells the calls of both when the server is lost, and counts that once', async () => {
    const scripts = { a: plain };
    const first = newGateway(scripts);
    const old = first.legacy().request('tools/call', call('a__slow'));
    await settled();
    const next = await nextHost(first, scripts);
    const late = next.legacy().request('tools/call', call('a__slow'));
    await settled();
    first.servers.a.child.exit();
    await settled();
    await next.clock.advanceAsync(1_000);
    for (const reply of [old, late]) {
      expect(JSON.stringify(reply.answered)).toContain('outcome_unknown');
    }
    expect([restartsOf(first), restartsOf(next)]).toEqual([0, 1]);
    await next.host.call('a', 't');
    expect(next.host.find('a').supervisor.generation).toBe(2);
  });

  it('gives a call that may be repeated a process of its own, if the server is lost', async () => {
    const scripts = { a: plain };
    const config = { a: { tools: { slow: { replay: 'safe' } } } };
    const first = newGateway(scripts, { config });
    const old = first.legacy().request('tools/call', call('a__slow'));
    await settled();
    await nextHost(first, scripts, { config });
    first.servers.a.script = { ...plain, on: { 'tools/call': () => text('again') } };
    first.servers.a.child.exit();
    await settled();
    await first.clock.advanceAsync(1_000);
    expect(old.result).toEqual(text('again'));
  });

  it('leaves a process that cannot be moved to its begun calls, and to nobody else', async () => {
    const scripts = { a: plain };
    const config = { a: { lazy: false } };
    const first = newGateway(scripts, { config });
    const slow = first.legacy().request('tools/call', call('a__slow'));
    await settled();
    const [old] = first.servers.a.children;
    Object.assign(old ?? {}, { handOver: undefined });
    const next = await nextHost(first, scripts, { config });
    next.host.startPinned();
    await settled();
    expect(next.host.find('a').supervisor.generation).toBe(2);
    expect(first.servers.a.children.map(({ isGone }) => isGone)).toEqual([false, false]);
    old?.answer(old.last('tools/call'), text('late'));
    await settled();
    await first.clock.advanceAsync(10_000);
    expect(slow.result).toEqual(text('late'));
    expect(first.servers.a.children.map(({ isGone }) => isGone)).toEqual([true, false]);
  });

  it('leaves a start that is under way to those who wait for it', async () => {
    const scripts = { a: { ...plain, on: { ...plain.on, initialize: () => undefined } } };
    const first = newGateway(scripts);
    const waiting = first.legacy().request('tools/call', call('a__t'));
    await settled();
    const next = await nextHost(first, scripts);
    const [old] = first.servers.a.children;
    first.servers.a.script = plain;
    await next.host.call('a', 't');
    expect(next.host.find('a').supervisor.generation).toBe(2);
    const greeting = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: {} };
    old?.answer(old.last('initialize'), greeting);
    await settled();
    await first.clock.advanceAsync(1_000);
    expect(waiting.result).toEqual(text('done'));
    await first.clock.advanceAsync(10_000);
    expect(first.servers.a.children.map(({ isGone }) => isGone)).toEqual([true, false]);
  });

  it('counts what the former process counts later', async () => {
    const scripts = { a: plain };
    const first = newGateway(scripts);
    first.legacy().request('tools/call', call('a__slow'));
    await settled();
    const next = await nextHost(first, scripts);
    const { child } = first.servers.a;
    child.answer(child.last('tools/call'), text('late'));
    await settled();
    expect(next.host.status().calls.total).toBe(0);
    next.host.addCounts(JSON.parse(JSON.stringify(first.host.takeCounts())));
    next.host.addCounts(JSON.parse(JSON.stringify(first.host.takeCounts())));
    expect(next.host.status().calls).toMatchObject({ total: 1, ok: 1 });
    expect(next.host.traffic.snapshot().inFlight).toBe(0);
  });

  it('is written over by nothing that the former still learns', async () => {
    const scripts = { a: plain };
    const first = newGateway(scripts);
    first.legacy().request('tools/call', call('a__slow'));
    await settled();
    await nextHost(first, scripts);
    const kept = await first.store.records('catalogues', { durability: 'forgetful' }).entries();
    first.host.find('a').offerings.keep();
    first.host.find('a').facts.learn({ classes: 'differ' });
    first.host.find('a').history.started(99_999);
    await first.host.close();
    await settled();
    for (const [name, before] of [['catalogues', kept]] as const) {
      const after = await first.store.records(name, { durability: 'forgetful' }).entries();
      expect(after).toEqual(before);
    }
    const starts = await first.store.records('starts', { durability: 'forgetful' }).entries();
    expect(JSON.stringify(starts)).not.toContain('99999');
    const facts = await first.store.records('verdicts', { durability: 'forgetful' }).entries();
    expect(JSON.stringify(facts)).not.toContain('differ');
  });
});

function restartsOf({ host }: Pick<ReturnType<typeof newGateway>, 'host'>): number {
  return host.find('a').supervisor.restarts;
}
