// What is kept: durable things are there when the same place is opened again, closed in order or not; a
// disk that refuses rejects what is durable and nothing else, and the store says so until it works again.

import { expect } from 'vitest';
import { ManualClock } from '../manual-clock.ts';
import { type Bench, caseOf, open, refusal, type StoreCase, type StoreSubject } from './subject.ts';

export function keptCases({
  offers,
  outlivesClosing,
  forgetsInMemory = false,
  place,
}: StoreSubject): readonly StoreCase[] {
  const hasRecords = offers.records.includes('durable');
  const canRefuse = place().refuse !== undefined;
  return [
    ...(outlivesClosing && hasRecords ? [reopened('records', showRecords)] : []),
    ...(outlivesClosing && offers.logs.includes('durable') ? [reopened('logs', showLog)] : []),
    ...(outlivesClosing && offers.queues.includes('durable')
      ? [reopened('queues', showQueue)]
      : []),
    ...(outlivesClosing && offers.counters.includes('durable')
      ? [reopened('counters', showCounter)]
      : []),
    ...(canRefuse && hasRecords ? [refusedDurable, comesBack] : []),
    ...(canRefuse && !forgetsInMemory && offers.records.includes('forgetful')
      ? [forgetfulGoesOn]
      : []),
  ];
}

/** Stops the store, or leaves it as a crash does, and opens its place again. */
type Restart = (bench: Bench) => Promise<Bench>;

function reopened(word: string, show: (bench: Bench, restart: Restart) => Promise<void>) {
  const title = `durable ${word} are there when the place is opened again, after a crash too`;
  return caseOf(title, async (first) => {
    let last = first;
    const after = (isCrash: boolean): Restart => {
      return async ({ store, place, clock }) => {
        if (!isCrash) await store.close();
        const later = new ManualClock(clock.wallNow(), 50_000);
        last = { place, clock: later, store: await place.open(later) };
        return last;
      };
    };
    await show(first, after(false));
    await show(last, after(true));
    await last.store.close();
  });
}

async function showRecords(bench: Bench, restart: Restart): Promise<void> {
  const before = open.records(bench, 'durable');
  await before.put('kept', { a: 1 });
  const version = await before.put('short', 1, { ttlMs: 1_000 });
  await before.put('removed', 1);
  await before.remove('removed');
  bench.clock.advance(400);
  const later = await restart(bench);
  const records = open.records(later, 'durable');
  expect((await records.entries()).map(({ key, value }) => [key, value])).toEqual([
    ['kept', { a: 1 }],
    ['short', 1],
  ]);
  expect((await records.get('short'))?.version).toBe(version);
  later.clock.advance(600);
  expect(await records.get('short')).toBeUndefined();
  const kept = (await records.get('kept'))?.version ?? '';
  expect((await records.compareAndSet('kept', kept, 2)).isPut).toBe(true);
}

async function showLog(bench: Bench, restart: Restart): Promise<void> {
  const before = open.log(bench, 'durable');
  const first = await before.append('a');
  const second = await before.append('b');
  await before.trim(second);
  const log = open.log(await restart(bench), 'durable');
  expect((await log.read()).map(({ sequence }) => sequence)).not.toContain(first);
  expect((await log.read({ from: second })).map(({ value }) => value)).toEqual(['b']);
  expect(await log.append('c')).toBeGreaterThan(second);
  await log.trim((await log.range()).next);
}

async function showQueue(bench: Bench, restart: Restart): Promise<void> {
  const before = open.queue(bench, 'durable');
  for (const item of ['done', 'held', 'free']) await before.put(item);
  const done = await before.claim(1_000);
  await before.ack(done?.id ?? '');
  const held = await before.claim(1_000);
  const later = await restart(bench);
  const queue = open.queue(later, 'durable');
  expect(await queue.size()).toBe(2);
  later.clock.advance(1_000);
  const claims = [await queue.claim(1_000), await queue.claim(1_000)];
  expect(claims.map((claim) => [claim?.value, claim?.attempt]).sort()).toEqual([
    ['free', 1],
    ['held', 2],
  ]);
  await expect(queue.ack(held?.id ?? '')).rejects.toMatchObject(refusal('lost_claim'));
  for (const claim of claims) await queue.ack(claim?.id ?? '');
}

async function showCounter(bench: Bench, restart: Restart): Promise<void> {
  const window = { limit: 10, windowMs: 1_000 };
  await open.counter(bench, 'durable').take('key', 7, window);
  bench.clock.advance(400);
  const later = await restart(bench);
  const counter = open.counter(later, 'durable');
  expect(await counter.take('key', 4, window)).toEqual({
    isTaken: false,
    left: 3,
    retryAfterMs: 600,
  });
  await counter.reset('key');
}

const refusedDurable = caseOf(
  'durable records that the disk refuses are rejected, and read as what is there #durable',
  async (bench) => {
    const records = open.records(bench, 'durable');
    const version = await records.put('key', 'old');
    bench.place.refuse?.(true);
    const notKept = { ...refusal('not_kept'), code: 'overloaded' };
    await expect(records.put('key', 'new')).rejects.toMatchObject(notKept);
    await expect(records.putIfAbsent('other', 1)).rejects.toMatchObject(notKept);
    const put = records.compareAndSet('key', version, 'new');
    await expect(put).rejects.toMatchObject(notKept);
    expect(await records.get('key')).toEqual({ key: 'key', value: 'old', version });
    expect(await records.get('other')).toBeUndefined();
    expect(bench.store.health().ok).toBe(false);
    bench.place.refuse?.(false);
  },
);

const comesBack = caseOf(
  'durable records are taken again when the disk works again, and the store is well',
  async (bench) => {
    const records = open.records(bench, 'durable');
    bench.place.refuse?.(true);
    await records.put('key', 'new').catch(() => {});
    bench.place.refuse?.(false);
    await records.put('key', 'newer');
    expect((await records.get('key'))?.value).toBe('newer');
    expect(bench.store.health()).toEqual({ ok: true });
  },
);

const forgetfulGoesOn = caseOf(
  'forgetful records that the disk refuses are taken all the same, and the store says so',
  async (bench) => {
    const records = open.records(bench, 'forgetful');
    bench.place.refuse?.(true);
    const version = await records.put('key', 'new');
    expect((await records.putIfAbsent('other', 1)).isPut).toBe(true);
    expect((await records.compareAndSet('key', version, 'newer')).isPut).toBe(true);
    expect((await records.get('key'))?.value).toBe('newer');
    expect(bench.store.health().ok).toBe(false);
    bench.place.refuse?.(false);
  },
);
