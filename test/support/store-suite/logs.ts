// What every kind of log promises while the store is open.

import { expect } from 'vitest';
import { byteValues, many, open, refusal, type Sketch } from './subject.ts';

export const logCases: readonly Sketch[] = [
  [
    'are empty at first',
    async (bench, durability) => {
      const log = open.log(bench, durability);
      expect(await log.read()).toEqual([]);
      const { first, next } = await log.range();
      expect(first).toBe(next);
    },
  ],
  [
    'give growing numbers in the order of the appends, also to many at once',
    async (bench, durability) => {
      const log = open.log(bench, durability);
      const numbers = await Promise.all(many.map((number) => log.append({ number })));
      expect([...numbers].sort((a, b) => a - b)).toEqual(numbers);
      expect(new Set(numbers).size).toBe(many.length);
      const entries = await log.read();
      expect(entries).toEqual(
        many.map((number) => ({ sequence: numbers[number], value: { number } })),
      );
      expect((await log.range()).first).toBe(numbers[0]);
      expect((await log.range()).next).toBeGreaterThan(numbers.at(-1) ?? 0);
    },
  ],
  [
    'give back bytes to the byte where they take them, and refuse them otherwise',
    async (bench, durability) => {
      const log = open.log(bench, durability);
      const appended = byteValues.map((bytes) => log.append(Uint8Array.from(bytes)));
      if (!log.takesBytes) {
        for (const one of appended) await expect(one).rejects.toThrow(TypeError);
        return;
      }
      await Promise.all(appended);
      const read = (await log.read()).map(({ value }) => Buffer.from(value as Uint8Array));
      expect(read.map((one, at) => one.equals(byteValues[at] ?? one.subarray(1)))).toEqual(
        byteValues.map(() => true),
      );
    },
  ],
  [
    'are read in pages from any number on, to the end and further when there is more',
    async (bench, durability) => {
      const log = open.log(bench, durability);
      for (const number of many) await log.append(number);
      const read: unknown[] = [];
      let from = 0;
      for (;;) {
        const page = await log.read({ from, limit: 7 });
        if (page.length === 0) break;
        expect(page.length).toBeLessThanOrEqual(7);
        read.push(...page.map(({ value }) => value));
        from = (page.at(-1)?.sequence ?? 0) + 1;
      }
      expect(read).toEqual(many);
      const sequence = await log.append('more');
      expect(await log.read({ from })).toEqual([{ sequence, value: 'more' }]);
    },
  ],
  [
    'give at most a thousand entries in one page',
    async (bench, durability) => {
      const log = open.log(bench, durability, 2_000);
      await Promise.all(Array.from({ length: 1_001 }, (_, number) => log.append(number)));
      expect(await log.read()).toHaveLength(100);
      expect(await log.read({ limit: 1_000_000 })).toHaveLength(1_000);
    },
  ],
  [
    'lose what is trimmed, and never give its numbers again',
    async (bench, durability) => {
      const log = open.log(bench, durability);
      const numbers = [];
      for (const value of ['a', 'b', 'c']) numbers.push(await log.append(value));
      await log.trim(numbers[2] ?? 0);
      expect((await log.read()).map(({ value }) => value)).toEqual(['c']);
      expect((await log.range()).first).toBe(numbers[2]);
      const { next } = await log.range();
      await log.trim(next + 100);
      expect(await log.read()).toEqual([]);
      expect(await log.append('d')).toBeGreaterThanOrEqual(next);
    },
  ],
  [
    'refuse what JSON cannot say',
    async (bench, durability) => {
      const log = open.log(bench, durability);
      await expect(log.append(undefined)).rejects.toThrow(TypeError);
      expect(await log.read()).toEqual([]);
    },
  ],
  [
    'are bounded: an append is refused until there is a trim, or, where they are forgetful, the oldest goes',
    async (bench, durability) => {
      const log = open.log(bench, durability, 3);
      const numbers = [];
      for (const value of ['a', 'b', 'c']) numbers.push(await log.append(value));
      if (durability === 'forgetful') {
        await log.append('d');
        expect((await log.read()).map(({ value }) => value)).toEqual(['b', 'c', 'd']);
        expect((await log.range()).first).toBe(numbers[1]);
        return;
      }
      await expect(log.append('d')).rejects.toMatchObject(refusal('full'));
      await log.trim(numbers[1] ?? 0);
      await log.append('d');
      expect((await log.read()).map(({ value }) => value)).toEqual(['b', 'c', 'd']);
    },
  ],
];
