import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { storeSuite } from '../../test/support/store-suite/store-suite.ts';
import { DeferredStore } from './deferred-store.ts';
import { MemoryStore } from './memory-store.ts';

const all = ['durable', 'process', 'forgetful'] as const;

storeSuite('a store that is still being opened', {
  offers: { records: all, logs: all, queues: ['durable', 'process'], counters: all },
  boundsRecords: true,
  outlivesClosing: false,
  place: () => ({
    open: (clock) =>
      new DeferredStore(Promise.resolve(new MemoryStore({ clock, claims: 'durable' }))),
  }),
});

describe('a store that is still being opened', () => {
  it('keeps the order of what was asked before it was open', async () => {
    let open = (_: MemoryStore) => {};
    const store = new DeferredStore(
      new Promise((resolve) => {
        open = resolve;
      }),
    );
    const records = store.records('things', { durability: 'process' });
    const puts = [1, 2, 3].map((value) => records.put('key', value));
    expect(store.health()).toEqual({ ok: true });
    open(new MemoryStore({ clock: new ManualClock() }));
    await Promise.all(puts);
    expect((await records.get('key'))?.value).toBe(3);
    await store.close();
  });
});
