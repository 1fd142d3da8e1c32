// What every kind of records promises while the store is open.

import { expect } from 'vitest';
import { byteValues, many, open, refusal, type Sketch } from './subject.ts';

const values = [null, true, 0, -1.5, '', 'text\n\u0000é😀', [], {}, { a: [1, { b: null }] }];
const keys = ['', '../escape', 'a/b', '.', 'nul\0', 'x'.repeat(5_000), 'CON', 'ключ', '__proto__'];

export const recordCases: readonly Sketch[] = [
  [
    'give back values as they were put',
    async (bench, durability) => {
      const records = open.records(bench, durability);
      for (const value of values) {
        await records.put('key', value);
        expect((await records.get('key'))?.value).toEqual(value);
      }
    },
  ],
  [
    'give back bytes to the byte where they take them, and refuse them otherwise',
    async (bench, durability) => {
      const records = open.records(bench, durability);
      for (const bytes of byteValues) {
        const put = records.put('key', Uint8Array.from(bytes));
        if (!records.takesBytes) {
          await expect(put).rejects.toThrow(TypeError);
          continue;
        }
        await put;
        const value = (await records.get('key'))?.value;
        expect(value).toBeInstanceOf(Uint8Array);
        expect(Buffer.from(value as Uint8Array).equals(bytes)).toBe(true);
      }
    },
  ],
  [
    'have nothing under a key that was never put',
    async (bench, durability) => {
      const records = open.records(bench, durability);
      expect(await records.get('key')).toBeUndefined();
      expect(await records.entries()).toEqual([]);
      expect(await records.isWhole()).toBe(true);
    },
  ],
  [
    'refuse what JSON cannot say',
    async (bench, durability) => {
      const records = open.records(bench, durability);
      await expect(records.put('key', undefined)).rejects.toThrow(TypeError);
      await expect(records.putIfAbsent('key', undefined)).rejects.toThrow(TypeError);
      expect(await records.get('key')).toBeUndefined();
    },
  ],
  [
    'take any text for a key',
    async (bench, durability) => {
      const records = open.records(bench, durability);
      for (const key of keys) await records.put(key, `of ${key}`);
      for (const key of keys) expect((await records.get(key))?.value).toBe(`of ${key}`);
      expect((await records.entries()).map(({ key }) => key)).toEqual([...keys].sort());
    },
  ],
  [
    'keep the last of several values put at once',
    async (bench, durability) => {
      const records = open.records(bench, durability);
      const puts = many.map((number) => records.put('key', number));
      await Promise.all(puts);
      expect((await records.get('key'))?.value).toBe(19);
    },
  ],
  [
    'hand out copies, never what they keep',
    async (bench, durability) => {
      const records = open.records(bench, durability);
      const value = { list: [1] };
      await records.put('key', value);
      value.list.push(2);
      const first = await records.get('key');
      expect(first?.value).toEqual({ list: [1] });
      Object.assign(first?.value as object, { list: [] });
      expect((await records.get('key'))?.value).toEqual({ list: [1] });
    },
  ],
  [
    'are the same when they are opened again, and others under another name',
    async (bench, durability) => {
      const { store } = bench;
      const others = store.records('others', { durability });
      await open.records(bench, durability).put('key', 1);
      await others.put('key', 2);
      await others.remove('key');
      expect((await open.records(bench, durability).get('key'))?.value).toBe(1);
      expect(await others.get('key')).toBeUndefined();
    },
  ],
  [
    'lose what is removed, and do not mind when there is nothing',
    async (bench, durability) => {
      const records = open.records(bench, durability);
      await records.put('key', 1);
      await records.remove('key');
      await records.remove('key');
      expect(await records.get('key')).toBeUndefined();
      expect(await records.entries()).toEqual([]);
    },
  ],
  [
    'are listed by a prefix in the order of their keys, with their versions',
    async (bench, durability) => {
      const records = open.records(bench, durability);
      for (const key of ['b/2', 'a/1', 'b/10', 'b']) await records.put(key, key);
      const entries = await records.entries('b/');
      expect(entries.map(({ key, value }) => [key, value])).toEqual([
        ['b/10', 'b/10'],
        ['b/2', 'b/2'],
      ]);
      expect(entries).toEqual([await records.get('b/10'), await records.get('b/2')]);
      expect((await records.entries()).map(({ key }) => key)).toEqual(['a/1', 'b', 'b/10', 'b/2']);
    },
  ],
  [
    'let a value go at the instant its time is over',
    async (bench, durability) => {
      const records = open.records(bench, durability);
      await records.put('key', 1, { ttlMs: 1_000 });
      bench.clock.advance(999);
      expect((await records.get('key'))?.value).toBe(1);
      bench.clock.advance(1);
      expect(await records.get('key')).toBeUndefined();
      expect(await records.entries()).toEqual([]);
    },
  ],
  [
    'count the time anew when a value is put again',
    async (bench, durability) => {
      const records = open.records(bench, durability);
      await records.put('key', 1, { ttlMs: 1_000 });
      await records.put('key', 2);
      bench.clock.advance(86_400_000);
      expect((await records.get('key'))?.value).toBe(2);
    },
  ],
  [
    'have another version after every change, also to an equal value',
    async (bench, durability) => {
      const records = open.records(bench, durability);
      const versions = new Set<string | undefined>();
      for (const value of [1, 1, 2, 1]) {
        const put = await records.put('key', value);
        expect((await records.get('key'))?.version).toBe(put);
        versions.add(put);
      }
      await records.remove('key');
      versions.add(await records.put('key', 1));
      expect(versions.size).toBe(5);
    },
  ],
  [
    'put only what is absent, and else tell what is there',
    async (bench, durability) => {
      const records = open.records(bench, durability);
      const first = await records.putIfAbsent('key', 'first', { ttlMs: 1_000 });
      expect(first).toEqual({ isPut: true, version: (await records.get('key'))?.version });
      const second = await records.putIfAbsent('key', 'second');
      expect(second).toEqual({ isPut: false, entry: await records.get('key') });
      expect((await records.get('key'))?.value).toBe('first');
      bench.clock.advance(1_000);
      expect((await records.putIfAbsent('key', 'third')).isPut).toBe(true);
      await records.remove('key');
      expect((await records.putIfAbsent('key', 'fourth')).isPut).toBe(true);
    },
  ],
  [
    'let one of many put what is absent',
    async (bench, durability) => {
      const records = open.records(bench, durability);
      const puts = await Promise.all(many.map((number) => records.putIfAbsent('key', number)));
      expect(puts.filter(({ isPut }) => isPut)).toHaveLength(1);
      const winner = puts.findIndex(({ isPut }) => isPut);
      expect((await records.get('key'))?.value).toBe(winner);
    },
  ],
  [
    'compare the version before they set, and else tell what is there',
    async (bench, durability) => {
      const records = open.records(bench, durability);
      const old = await records.put('key', 'old');
      const set = await records.compareAndSet('key', old, 'new', { ttlMs: 1_000 });
      expect(set).toEqual({ isPut: true, version: (await records.get('key'))?.version });
      const late = await records.compareAndSet('key', old, 'late');
      expect(late).toEqual({ isPut: false, entry: await records.get('key') });
      expect((await records.get('key'))?.value).toBe('new');
      const current = (await records.get('key'))?.version ?? '';
      bench.clock.advance(1_000);
      const over = await records.compareAndSet('key', current, 'over');
      expect(over).toEqual({ isPut: false, entry: undefined });
      expect(await records.compareAndSet('absent', current, 'x')).toMatchObject({ isPut: false });
      expect(await records.entries()).toEqual([]);
    },
  ],
  [
    'lose no change among many that compare and set',
    async (bench, durability) => {
      const records = open.records(bench, durability);
      await records.put('key', 0);
      const addOne = async (): Promise<void> => {
        for (;;) {
          const { value, version } = (await records.get('key')) ?? { value: 0, version: '' };
          const next = Number(value) + 1;
          if ((await records.compareAndSet('key', version, next)).isPut) return;
        }
      };
      await Promise.all(many.map(addOne));
      expect((await records.get('key'))?.value).toBe(many.length);
    },
  ],
];

export const boundedRecordCases: readonly Sketch[] = [
  [
    'are bounded: a new key is refused, or, where they are forgetful, the oldest makes way',
    async (bench, durability) => {
      const records = open.records(bench, durability, 3);
      for (const key of ['a', 'b', 'c']) await records.put(key, key);
      await records.put('a', 'again');
      const isForgetful = durability === 'forgetful';
      if (isForgetful) await records.put('d', 'd');
      else await expect(records.put('d', 'd')).rejects.toMatchObject(refusal('full'));
      const left = (await records.entries()).map(({ key }) => key);
      expect(left).toEqual(isForgetful ? ['a', 'c', 'd'] : ['a', 'b', 'c']);
      if (!isForgetful) {
        await expect(records.putIfAbsent('d', 'd')).rejects.toMatchObject(refusal('full'));
      }
      await records.remove('c');
      expect((await records.putIfAbsent('e', 'e')).isPut).toBe(true);
    },
  ],
  [
    'have room again for those whose time is over',
    async (bench, durability) => {
      const records = open.records(bench, durability, 2);
      await records.put('short', 1, { ttlMs: 1_000 });
      await records.put('long', 2, { ttlMs: 5_000 });
      bench.clock.advance(1_000);
      await records.put('new', 3);
      expect((await records.entries()).map(({ key }) => key)).toEqual(['long', 'new']);
    },
  ],
];
