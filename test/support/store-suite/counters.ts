// What every kind of counter promises while the store is open.

import { expect } from 'vitest';
import { many, open, refusal, type Sketch } from './subject.ts';

const perSecond = { limit: 10, windowMs: 1_000 };

export const counterCases: readonly Sketch[] = [
  [
    'give what is left, and refuse more with the time until the window ends',
    async (bench, durability) => {
      const counter = open.counter(bench, durability);
      expect(await counter.take('key', 4, perSecond)).toEqual({ isTaken: true, left: 6 });
      bench.clock.advance(300);
      expect(await counter.take('key', 7, perSecond)).toEqual({
        isTaken: false,
        left: 6,
        retryAfterMs: 700,
      });
      expect(await counter.take('key', 6, perSecond)).toEqual({ isTaken: true, left: 0 });
      expect(await counter.take('key', 0, perSecond)).toEqual({ isTaken: true, left: 0 });
    },
  ],
  [
    'begin anew at the instant the window ends',
    async (bench, durability) => {
      const counter = open.counter(bench, durability);
      await counter.take('key', 10, perSecond);
      bench.clock.advance(999);
      expect(await counter.take('key', 1, perSecond)).toMatchObject({ retryAfterMs: 1 });
      bench.clock.advance(1);
      expect(await counter.take('key', 10, perSecond)).toEqual({ isTaken: true, left: 0 });
      bench.clock.advance(999);
      expect((await counter.take('key', 1, perSecond)).isTaken).toBe(false);
    },
  ],
  [
    'never give more than the limit to many who take at once',
    async (bench, durability) => {
      const counter = open.counter(bench, durability);
      const takes = await Promise.all(many.map(() => counter.take('key', 1, perSecond)));
      expect(takes.filter(({ isTaken }) => isTaken)).toHaveLength(10);
    },
  ],
  [
    'count each key by itself',
    async (bench, durability) => {
      const counter = open.counter(bench, durability);
      for (const key of ['a', '', '__proto__']) {
        expect(await counter.take(key, 10, perSecond)).toEqual({ isTaken: true, left: 0 });
      }
    },
  ],
  [
    'hold what was taken against a limit that has changed',
    async (bench, durability) => {
      const counter = open.counter(bench, durability);
      await counter.take('key', 8, perSecond);
      expect(await counter.take('key', 1, { ...perSecond, limit: 5 })).toMatchObject({
        isTaken: false,
        left: 0,
      });
      expect(await counter.take('key', 1, { ...perSecond, limit: 20 })).toEqual({
        isTaken: true,
        left: 11,
      });
    },
  ],
  [
    'say so where waiting does not help',
    async (bench, durability) => {
      const counter = open.counter(bench, durability);
      const never = { limit: 10, windowMs: null };
      expect(await counter.take('key', 11, perSecond)).toMatchObject({ retryAfterMs: null });
      await counter.take('total', 10, never);
      bench.clock.advance(1e9);
      expect(await counter.take('total', 1, never)).toMatchObject({
        isTaken: false,
        retryAfterMs: null,
      });
    },
  ],
  [
    'begin anew when they are reset',
    async (bench, durability) => {
      const counter = open.counter(bench, durability);
      await counter.take('key', 10, perSecond);
      await counter.reset('key');
      await counter.reset('key');
      expect((await counter.take('key', 10, perSecond)).isTaken).toBe(true);
    },
  ],
  [
    'refuse amounts and limits that are none',
    async (bench, durability) => {
      const counter = open.counter(bench, durability);
      for (const bad of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
        await expect(counter.take('key', bad, perSecond)).rejects.toThrow(TypeError);
        const window = { ...perSecond, limit: bad };
        await expect(counter.take('key', 1, window)).rejects.toThrow(TypeError);
      }
      const none = { ...perSecond, windowMs: 0 };
      await expect(counter.take('key', 1, none)).rejects.toThrow(TypeError);
    },
  ],
  [
    'are bounded: a new key is refused until a window ends, or, where they are forgetful, the oldest makes way',
    async (bench, durability) => {
      const counter = open.counter(bench, durability, 2);
      for (const key of ['a', 'b']) await counter.take(key, 10, perSecond);
      if (durability === 'forgetful') {
        expect((await counter.take('c', 1, perSecond)).isTaken).toBe(true);
        expect((await counter.take('b', 1, perSecond)).isTaken).toBe(false);
        return;
      }
      await expect(counter.take('c', 1, perSecond)).rejects.toMatchObject(refusal('full'));
      bench.clock.advance(1_000);
      expect((await counter.take('c', 1, perSecond)).isTaken).toBe(true);
    },
  ],
];
