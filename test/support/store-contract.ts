// What every store promises, as one suite that each implementation runs. It knows a store only by its
// contract and a clock.

import { describe, expect, it } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import { ManualClock } from './manual-clock.ts';

export function storeContract(name: string, open: (clock: ManualClock) => Store): void {
  const inStore = (body: (store: Store, clock: ManualClock) => Promise<void>) => async () => {
    const clock = new ManualClock();
    await using store = open(clock);
    await body(store, clock);
  };

  describe(`${name}, as a store`, () => {
    it.each([null, true, 0, -1.5, '', 'text\n\u0000é😀', [], {}, { a: [1, { b: null }] }])(
      'gives back %j as it was put',
      async (value) => {
        await using store = open(new ManualClock());
        const verdicts = store.collection('verdicts');
        await verdicts.put('key', value);
        expect(await verdicts.get('key')).toEqual(value);
      },
    );

    it(
      'has nothing under a key that was never put',
      inStore(async (store) => {
        expect(await store.collection('verdicts').get('key')).toBeUndefined();
        expect(await store.collection('verdicts').entries()).toEqual([]);
      }),
    );

    it(
      'refuses what JSON cannot say',
      inStore(async (store) => {
        await expect(store.collection('verdicts').put('key', undefined)).rejects.toThrow(TypeError);
      }),
    );

    it(
      'keeps the last of several values put at once',
      inStore(async (store) => {
        const verdicts = store.collection('verdicts');
        const puts = Array.from({ length: 20 }, (_, count) => verdicts.put('key', count));
        expect(await verdicts.get('key')).toBe(19);
        await puts[0];
        expect(await verdicts.get('key')).toBe(19);
        await Promise.all(puts);
        expect(await verdicts.get('key')).toBe(19);
      }),
    );

    it(
      'hands out copies, never what it keeps',
      inStore(async (store) => {
        const verdicts = store.collection('verdicts');
        const value = { list: [1] };
        await verdicts.put('key', value);
        value.list.push(2);
        const first = await verdicts.get('key');
        expect(first).toEqual({ list: [1] });
        if (typeof first === 'object' && first !== null) Object.assign(first, { list: [] });
        expect(await verdicts.get('key')).toEqual({ list: [1] });
      }),
    );

    it(
      'keeps collections apart',
      inStore(async (store) => {
        await store.collection('verdicts').put('key', 1);
        await store.collection('catalogues').put('key', 2);
        await store.collection('catalogues').remove('key');
        expect(await store.collection('verdicts').get('key')).toBe(1);
        expect(await store.collection('catalogues').get('key')).toBeUndefined();
      }),
    );

    it(
      'forgets what is removed, and does not mind when there is nothing',
      inStore(async (store) => {
        const verdicts = store.collection('verdicts');
        await verdicts.put('key', 1);
        await verdicts.remove('key');
        await verdicts.remove('key');
        expect(await verdicts.get('key')).toBeUndefined();
        expect(await verdicts.entries()).toEqual([]);
      }),
    );

    it(
      'lists the values under a prefix in the order of their keys',
      inStore(async (store) => {
        const verdicts = store.collection('verdicts');
        for (const key of ['b/2', 'a/1', 'b/10', 'b']) await verdicts.put(key, key);
        const keys = (await verdicts.entries('b/')).map(({ key, value }) => [key, value]);
        expect(keys).toEqual([
          ['b/10', 'b/10'],
          ['b/2', 'b/2'],
        ]);
        expect((await verdicts.entries()).map(({ key }) => key)).toEqual([
          'a/1',
          'b',
          'b/10',
          'b/2',
        ]);
      }),
    );

    it(
      'lets a value go at the instant its time is over',
      inStore(async (store, clock) => {
        const verdicts = store.collection('verdicts');
        await verdicts.put('key', 1, { ttlMs: 1_000 });
        clock.advance(999);
        expect(await verdicts.get('key')).toBe(1);
        clock.advance(1);
        expect(await verdicts.get('key')).toBeUndefined();
        expect(await verdicts.entries()).toEqual([]);
      }),
    );

    it(
      'counts the time anew when a value is put again',
      inStore(async (store, clock) => {
        const verdicts = store.collection('verdicts');
        await verdicts.put('key', 1, { ttlMs: 1_000 });
        await verdicts.put('key', 2);
        clock.advance(86_400_000);
        expect(await verdicts.get('key')).toBe(2);
      }),
    );

    it.each(['', '../escape', 'a/b', '.', 'nul\0', 'x'.repeat(5_000), 'CON', 'ключ'])(
      'takes %j for a key like any other',
      async (key) => {
        await using store = open(new ManualClock());
        const verdicts = store.collection('verdicts');
        await verdicts.put(key, 'here');
        expect(await verdicts.get(key)).toBe('here');
        expect(await verdicts.entries()).toEqual([{ key, value: 'here' }]);
      },
    );

    it.each(['', '..', 'a/b', 'Verdicts', 'a b'])('refuses a collection called %j', async (bad) => {
      await using store = open(new ManualClock());
      expect(() => store.collection(bad)).toThrow(TypeError);
    });

    it(
      'is well while nothing is wrong',
      inStore(async (store) => expect(store.health()).toEqual({ ok: true })),
    );

    it('closes once, however often it is asked, and takes nothing afterwards', async () => {
      const clock = new ManualClock();
      const store = open(clock);
      const put = store.collection('verdicts').put('key', 1);
      await Promise.all([put, store.close(), store.close()]);
      await store.close();
      await expect(store.collection('verdicts').put('key', 2)).rejects.toThrow(/closed/);
      await expect(store.collection('verdicts').get('key')).rejects.toThrow(/closed/);
      expect(clock.waiting).toBe(0);
    });
  });
}
