import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { storeSuite } from '../../test/support/store-suite/store-suite.ts';
import { DeferredStore } from './deferred-store.ts';
import { withHealthOf } from './disk-health.ts';
import { MemoryStore } from './memory-store.ts';

const all = ['durable', 'process', 'forgetful'] as const;

storeSuite('a store that is still being opened', {
  offers: { records: all, logs: all, queues: ['durable', 'process'], counters: all },
  boundsRecords: true,
  outlivesClosing: false,
  place: () => ({
    open: (clock) => new DeferredStore(async () => new MemoryStore({ clock, claims: 'durable' })),
  }),
});

describe('a store that is still being opened', () => {
  it('keeps the order of what was asked before it was open', async () => {
    let open = (_: MemoryStore) => {};
    const store = new DeferredStore(
      () =>
        new Promise<MemoryStore>((resolve) => {
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

  it('is as healthy as the opened one', async () => {
    const health = { ok: false, problem: 'the disk is full' };
    const memory = new MemoryStore({ clock: new ManualClock() });
    await using store = new DeferredStore(async () => withHealthOf(memory, () => health));
    expect(store.health()).toEqual({ ok: true });
    await store.records('things', { durability: 'process' }).get('key');
    expect(store.health()).toEqual(health);
  });

  it('is opened at its first use, when it is time, or never', async () => {
    const opened: string[] = [];
    const deferred = (name: string, latest: Promise<unknown>) =>
      new DeferredStore(async () => {
        opened.push(name);
        return new MemoryStore({ clock: new ManualClock() });
      }, latest);
    const never = new Promise(() => {});
    const used = deferred('used', never);
    const unused = deferred('unused', never);
    const closedBefore = deferred('closed before', Promise.resolve());
    const left = deferred('left alone', Promise.resolve());
    await closedBefore.close();
    await used.records('things', { durability: 'process' }).put('key', 1);
    await Promise.all([used, unused, left].map((store) => store.close()));
    expect(opened).toEqual(['left alone', 'used']);
  });
});
