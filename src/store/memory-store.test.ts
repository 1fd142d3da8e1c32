import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { storeSuite } from '../../test/support/store-suite/store-suite.ts';
import { MemoryStore } from './memory-store.ts';

const forgetful = { durability: 'forgetful' } as const;
const lasting = { durability: 'process' } as const;

storeSuite('the memory store', {
  offers: {
    records: ['process', 'forgetful'],
    logs: ['process', 'forgetful'],
    queues: ['process'],
    counters: ['process', 'forgetful'],
  },
  boundsRecords: true,
  outlivesClosing: false,
  watches: ['process', 'forgetful'],
  place: () => ({ open: (clock) => new MemoryStore({ clock }) }),
});

storeSuite('the memory store as a test double', {
  offers: {
    records: ['durable', 'process', 'forgetful'],
    logs: ['durable', 'process', 'forgetful'],
    queues: ['durable', 'process'],
    counters: ['durable', 'process', 'forgetful'],
  },
  boundsRecords: true,
  outlivesClosing: false,
  place: () => ({ open: (clock) => new MemoryStore({ clock, claims: 'durable' }) }),
});

describe('the memory store', () => {
  it('makes room by dropping what was put longest ago of what is forgetful', async () => {
    await using store = new MemoryStore({ clock: new ManualClock(), maxBytes: 300 });
    const verdicts = store.records('verdicts', forgetful);
    for (const key of ['a', 'b', 'c']) await verdicts.put(key, 'x'.repeat(50));
    await verdicts.put('b', 'y'.repeat(50));
    await verdicts.put('d', 'x'.repeat(50));
    expect((await verdicts.entries()).map(({ key }) => key)).toEqual(['b', 'd']);
  });

  it('gives back the room of a value that one takes the place of which is too large', async () => {
    await using store = new MemoryStore({ clock: new ManualClock(), maxBytes: 300 });
    const verdicts = store.records('verdicts', forgetful);
    for (const value of ['x'.repeat(50), 'x'.repeat(500), 'y'.repeat(50)]) {
      await verdicts.put('a', value);
    }
    for (const key of ['b', 'c']) await verdicts.put(key, 'x'.repeat(40));
    expect((await verdicts.entries()).map(({ key }) => key)).toEqual(['a', 'b', 'c']);
  });

  it('never drops what is not forgetful: it refuses when it is full #kept-or-refused', async () => {
    const clock = new ManualClock();
    await using store = new MemoryStore({ clock, maxBytes: 350 });
    const cache = store.records('cache', forgetful);
    const keys = store.records('keys', lasting);
    const [queue, log] = [store.queue('inbox', lasting), store.log('trail', lasting)];
    await cache.put('a', 'x'.repeat(30));
    await keys.put('a', 'x'.repeat(30), { ttlMs: 1_000 });
    await queue.put('x'.repeat(30));
    await log.append('x'.repeat(30));
    await keys.put('b', 'x'.repeat(60));
    expect(await cache.entries()).toEqual([]);
    const full = { reason: 'full', code: 'overloaded' };
    const large = 'x'.repeat(70);
    await expect(keys.put('c', large)).rejects.toMatchObject(full);
    await expect(keys.put('a', large)).rejects.toMatchObject(full);
    await expect(queue.put(large)).rejects.toMatchObject(full);
    await expect(log.append(large)).rejects.toMatchObject(full);
    const counter = store.counter('takes', lasting);
    const take = counter.take(large, 1, { limit: 1, windowMs: 1_000 });
    await expect(take).rejects.toMatchObject(full);
    expect((await keys.get('a'))?.value).toBe('x'.repeat(30));
    clock.advance(1_000);
    await keys.put('c', 'x'.repeat(30));
    expect((await keys.entries()).map(({ key }) => key)).toEqual(['b', 'c']);
  });

  it('lets nothing forgetful go for what does not fit anyway', async () => {
    await using store = new MemoryStore({ clock: new ManualClock(), maxBytes: 300 });
    const cache = store.records('cache', forgetful);
    await cache.put('a', 'x'.repeat(30));
    const put = store.records('keys', lasting).put('a', 'x'.repeat(500));
    await expect(put).rejects.toMatchObject({ reason: 'full' });
    expect(await cache.entries()).toHaveLength(1);
  });

  it('takes what is forgetful even if there is no room for it at all', async () => {
    await using store = new MemoryStore({ clock: new ManualClock(), maxBytes: 100 });
    await store.records('cache', forgetful).put('a', 'x'.repeat(500));
    await store.log('news', forgetful).append('x'.repeat(500));
    const window = { limit: 1, windowMs: 1_000 };
    const taken = await store.counter('takes', forgetful).take('x'.repeat(500), 1, window);
    expect(taken).toEqual({ isTaken: true, left: 0 });
    expect(await store.records('cache', forgetful).entries()).toEqual([]);
    const { first, next } = await store.log('news', forgetful).range();
    expect([first, next]).toEqual([2, 2]);
  });

  it.each([lasting, forgetful])(
    'has its room back when something $durability is replaced or gone #no-growth',
    async (kind) => {
      const clock = new ManualClock();
      await using store = new MemoryStore({ clock, maxBytes: 1_000 });
      // Whatever leaks room pushes this out, or is refused itself.
      await store.records('cache', forgetful).put('a', 'x'.repeat(100));
      const [records, log] = [store.records('keys', kind), store.log('trail', kind)];
      const [queue, counter] = [store.queue('inbox', lasting), store.counter('takes', kind)];
      const window = { limit: 1, windowMs: 1_000 };
      for (let round = 0; round < 100; round += 1) {
        await records.put('replaced', 'x'.repeat(20 + (round % 2)));
        await records.put('removed', 'x'.repeat(20));
        await records.remove('removed');
        await records.put(`short ${round}`, 1, { ttlMs: 1_000 });
        await log.trim(await log.append('x'.repeat(20)));
        await queue.put('x'.repeat(20));
        await queue.ack((await queue.claim(1_000))?.id ?? '');
        await counter.take('reset', 1, window);
        await counter.reset('reset');
        await counter.take(`short ${round}`, 1, window);
        clock.advance(1_000);
      }
      expect(await store.records('cache', forgetful).entries()).toHaveLength(1);
    },
  );
});
