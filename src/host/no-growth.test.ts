import { describe, expect, it } from 'vitest';
import { newHost } from '../../test/support/fake-gateway.ts';
import { settled } from '../../test/support/manual-clock.ts';
import { text, tool } from '../../test/support/scripted-server.ts';
import { ResponseCache } from '../cache/cache.ts';
import { Budget } from '../policy/budget.ts';

const readOnly = tool('t', { annotations: { readOnlyHint: true } });
const echo = { tools: [readOnly], on: { 'tools/call': () => text('') } };

describe('what the host keeps', () => {
  it('of calls ends with them, whatever their end #no-growth', async () => {
    const { host } = newHost({ s: echo }, { config: { s: { tools: { t: { cacheMs: 1_000 } } } } });
    for (let count = 0; count < 300; count++) {
      const giveUp = new AbortController();
      const key = count % 3 === 0 ? { idempotencyKey: `k${count}` } : {};
      const options = { signal: giveUp.signal, timeoutMs: 1_000 + count, ...key };
      const call = host.call('s', 't', { n: count % 50 }, options).catch(() => {});
      if (count % 5 === 0) giveUp.abort();
      if (count % 10 === 0) await call;
    }
    await settled();
    await settled();
    const server = host.find('s');
    const { supervisor } = server.slots.current;
    expect({
      keys: host.parts.keys.running,
      flights: host.parts.flights.size,
      held: supervisor.leases.held,
      inside: server.admission.inside,
      queued: server.admission.queued,
      slots: [...server.slots.all()].length,
    }).toEqual({ keys: 0, flights: 0, held: 0, inside: 0, queued: 0, slots: 1 });
    expect(host.cacheStats().entries).toBeLessThanOrEqual(64);
    expect(host.parts.deadlines.lines).toBeLessThanOrEqual(32);
  });

  it('of servers that come and go is what it was #no-growth', async () => {
    const { host, clock } = newHost({}, { undeclared: echo });
    for (let count = 0; count < 50; count++) {
      const name = await host.spawn({
        name: `n${count % 2}`,
        command: '/bin/x',
        args: [`${count}`],
      });
      await host.call(name, 't');
      await host.stop(name);
    }
    await clock.advanceAsync(1_000);
    expect([host.servers().length, host.parts.cache.marks]).toEqual([2, 2]);
  });
});

describe('what a cache keeps of servers', () => {
  it('whose entries were forgotten is bounded, and errs on the safe side #no-growth', async () => {
    const { clock } = newHost({});
    const cache = new ResponseCache(clock, { entriesPerTool: 10, maxBytes: 100_000 });
    const asked = cache.mark();
    for (let count = 0; count < 3_000; count++) cache.invalidate(`server ${count}`);
    expect(cache.marks).toBeLessThanOrEqual(1_024);
    const key = { own: 'o', shared: 's', server: 'server 5', shelf: 'tool:t' } as const;
    cache.put(key, Buffer.from('old'), 1_000, 'private', asked);
    expect(cache.stats().entries).toBe(0);
    cache.put(key, Buffer.from('new'), 1_000, 'private', cache.mark());
    expect(cache.stats().entries).toBe(1);
  });
});

describe('what a budget keeps of calls', () => {
  it('is those of the last minute #no-growth', () => {
    const { clock } = newHost({});
    const budget = new Budget({ perMinute: 1_000_000 }, clock);
    for (let count = 0; count < 20_000; count++) {
      budget.charge();
      clock.advance(60);
    }
    expect(budget.kept).toBeLessThanOrEqual(2_001);
  });
});
