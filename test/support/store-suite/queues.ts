// What every kind of queue promises while the store is open.

import { expect } from 'vitest';
import type { Unforgetful } from '../../../src/store/contract/durability.ts';
import type { Claim, Queue } from '../../../src/store/contract/queue.ts';
import { many, open, refusal, type Sketch } from './subject.ts';

async function claimed(queue: Queue, leaseMs = 1_000): Promise<Claim> {
  const claim = await queue.claim(leaseMs);
  if (claim === undefined) throw new Error('there was nothing to claim');
  return claim;
}

const lost = refusal('lost_claim');

export const queueCases: readonly Sketch<Unforgetful>[] = [
  [
    'give items in the order in which they were put, each to one claimer',
    async (bench, durability) => {
      const queue = open.queue(bench, durability);
      for (const number of many) await queue.put({ number });
      const claims = await Promise.all(many.map(() => queue.claim(1_000)));
      expect(claims.map((claim) => claim?.value)).toEqual(many.map((number) => ({ number })));
      expect(new Set(claims.map((claim) => claim?.id)).size).toBe(many.length);
      expect(await queue.claim(1_000)).toBeUndefined();
    },
  ],
  [
    'tell with a claim which attempt it is and when its lease ends',
    async (bench, durability) => {
      const queue = open.queue(bench, durability);
      await queue.put('item');
      bench.clock.advance(5);
      expect(await queue.claim(1_000)).toMatchObject({
        value: 'item',
        attempt: 1,
        until: bench.clock.now() + 1_000,
      });
    },
  ],
  [
    'lose an item when it is acknowledged, and not before',
    async (bench, durability) => {
      const queue = open.queue(bench, durability);
      await queue.put('item');
      expect(await queue.size()).toBe(1);
      const { id } = await claimed(queue);
      expect(await queue.size()).toBe(1);
      await queue.ack(id);
      expect(await queue.size()).toBe(0);
      bench.clock.advance(10_000);
      expect(await queue.claim(1_000)).toBeUndefined();
    },
  ],
  [
    'give an item whose lease has ended to the next claimer, as another attempt',
    async (bench, durability) => {
      const queue = open.queue(bench, durability);
      await queue.put('item');
      const first = await claimed(queue);
      bench.clock.advance(999);
      expect(await queue.claim(1_000)).toBeUndefined();
      bench.clock.advance(1);
      const second = await claimed(queue);
      expect(second).toMatchObject({ value: 'item', attempt: 2 });
      expect(second.id).not.toBe(first.id);
    },
  ],
  [
    'refuse every word of a claim whose item another holds, and leave that one alone',
    async (bench, durability) => {
      const queue = open.queue(bench, durability);
      await queue.put('item');
      const old = await claimed(queue);
      bench.clock.advance(1_000);
      const successor = await claimed(queue);
      await expect(queue.ack(old.id)).rejects.toMatchObject(lost);
      await expect(queue.giveBack(old.id)).rejects.toMatchObject(lost);
      await expect(queue.extend(old.id, 5_000)).rejects.toMatchObject(lost);
      expect(await queue.claim(1_000)).toBeUndefined();
      bench.clock.advance(999);
      await queue.ack(successor.id);
      expect(await queue.size()).toBe(0);
    },
  ],
  [
    'refuse a claim whose lease has ended, also while nobody else has the item',
    async (bench, durability) => {
      const queue = open.queue(bench, durability);
      await queue.put('item');
      const { id } = await claimed(queue);
      bench.clock.advance(1_000);
      await expect(queue.ack(id)).rejects.toMatchObject(lost);
      await expect(queue.extend(id, 1_000)).rejects.toMatchObject(lost);
      expect(await queue.size()).toBe(1);
    },
  ],
  [
    'refuse a claim that is over by its own word, and one that never was',
    async (bench, durability) => {
      const queue = open.queue(bench, durability);
      for (const item of ['a', 'b']) await queue.put(item);
      const [acknowledged, given] = [await claimed(queue), await claimed(queue)];
      await queue.ack(acknowledged.id);
      await queue.giveBack(given.id);
      for (const id of [acknowledged.id, given.id, '', '__proto__']) {
        await expect(queue.ack(id)).rejects.toMatchObject(lost);
      }
      expect(await queue.size()).toBe(1);
    },
  ],
  [
    'take an item back, at once or after a delay',
    async (bench, durability) => {
      const queue = open.queue(bench, durability);
      await queue.put('item');
      await queue.giveBack((await claimed(queue)).id);
      const second = await claimed(queue);
      expect(second.attempt).toBe(2);
      await queue.giveBack(second.id, { delayMs: 500 });
      bench.clock.advance(499);
      expect(await queue.claim(1_000)).toBeUndefined();
      bench.clock.advance(1);
      expect((await claimed(queue)).attempt).toBe(3);
    },
  ],
  [
    'hold back what is put with a delay, without holding up the rest',
    async (bench, durability) => {
      const queue = open.queue(bench, durability);
      await queue.put('later', { delayMs: 500 });
      await queue.put('now');
      expect((await claimed(queue)).value).toBe('now');
      expect(await queue.claim(1_000)).toBeUndefined();
      bench.clock.advance(500);
      expect((await claimed(queue)).value).toBe('later');
    },
  ],
  [
    'extend a lease from now on',
    async (bench, durability) => {
      const queue = open.queue(bench, durability);
      await queue.put('item');
      const { id } = await claimed(queue);
      bench.clock.advance(900);
      expect(await queue.extend(id, 1_000)).toBe(bench.clock.now() + 1_000);
      bench.clock.advance(999);
      expect(await queue.claim(1_000)).toBeUndefined();
      await queue.ack(id);
    },
  ],
  [
    'are bounded: a put is refused until something is acknowledged',
    async (bench, durability) => {
      const queue = open.queue(bench, durability, 2);
      for (const item of ['a', 'b']) await queue.put(item);
      const { id } = await claimed(queue);
      await expect(queue.put('c')).rejects.toMatchObject(refusal('full'));
      await queue.ack(id);
      await queue.put('c');
      expect(await queue.size()).toBe(2);
    },
  ],
  [
    'refuse what JSON cannot say',
    async (bench, durability) => {
      const queue = open.queue(bench, durability);
      await expect(queue.put(undefined)).rejects.toThrow(TypeError);
      expect(await queue.size()).toBe(0);
    },
  ],
];
