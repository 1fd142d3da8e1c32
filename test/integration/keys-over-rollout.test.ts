// Idempotency keys over a rollout: a call that the former process runs is not run again by the next one, which waits for
// its answer; and a former process that has died is not waited for.

import { describe, expect, it } from 'vitest';
import { IdempotencyKeys } from '../../src/policy/idempotency.ts';
import { KeyedRecords } from '../../src/policy/keyed-records.ts';
import { RolloutHolders } from '../../src/replicas/rollout-holders.ts';
import type { Store } from '../../src/store/store.ts';
import { firstDatabase, firstMemory, type HandedStore } from '../support/handed-store.ts';
import { ManualClock, settled } from '../support/manual-clock.ts';
import { MemoryBusServer } from '../support/memory-bus.ts';

const durable = { durability: 'durable' } as const;
const secret = Buffer.alloc(32, 'secret');
const ann = { id: 'ann', role: null };

/** One process of the instance. */
function processOf(store: Store, clock: ManualClock, server: MemoryBusServer, id: string) {
  const bus = server.member();
  const replicas = new RolloutHolders({ bus, subjects: 'rollout', id, secret });
  const keys = store.records('keys', durable);
  const answers = store.records('key-answers', durable);
  const keyed = new KeyedRecords({ clock, keys, answers: async () => answers, replicas });
  const failures: unknown[] = [];
  return { bus, keys: new IdempotencyKeys(keyed, (failure) => failures.push(failure)), failures };
}

/** A call that ends when the test says so. */
function call() {
  let end = (_: Buffer) => {};
  let fail = (_: unknown) => {};
  let runs = 0;
  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const answer = new Promise<Buffer>((resolve, reject) => {
    end = resolve;
    fail = reject;
  });
  const execute = () => {
    runs += 1;
    begin();
    return answer;
  };
  return { execute, begun, end: (text: string) => end(Buffer.from(text)), fail, runs: () => runs };
}

async function passing<T>(clock: ManualClock, work: Promise<T>): Promise<T> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  work.then(over, over);
  for (let passed = 0; passed < 200 && !isOver; passed += 1) {
    for (let turn = 0; turn < 20 && !isOver; turn += 1) await settled();
    clock.advance(100);
  }
  if (!isOver) throw new Error('it has not ended');
  return await work;
}

const places: readonly (readonly [string, (clock: ManualClock) => HandedStore])[] = [
  ['in the database', (clock) => firstDatabase(clock)],
  ['in memory', (clock) => firstMemory(clock)],
];

describe.each(places)('idempotency keys %s over a rollout', (_, first) => {
  const begin = () => {
    const clock = new ManualClock();
    const server = new MemoryBusServer();
    const handed = first(clock);
    const one = processOf(handed.store, clock, server, '0a');
    return { clock, server, handed, one };
  };

  it('run a call once: its retry at the next process waits for the answer of the former one #never-twice', async () => {
    const { clock, server, handed, one } = begin();
    const running = call();
    const asked = one.keys.run(ann, 'key', 'f', running.execute);
    await passing(clock, running.begun);
    const taken = await handed.next();
    const two = processOf(taken.store, clock, server, '0b');
    const retry = call();
    const again = two.keys.run(ann, 'key', 'f', retry.execute);
    for (let second = 0; second < 10; second += 1) {
      clock.advance(1_000);
      await settled();
    }
    running.end('{"once":1}');
    expect((await passing(clock, asked)).toString()).toBe('{"once":1}');
    expect((await passing(clock, again)).toString()).toBe('{"once":1}');
    const other = two.keys.run(ann, 'key', 'other', retry.execute);
    await expect(passing(clock, other)).rejects.toMatchObject({ code: 'conflict' });
    expect([running.runs(), retry.runs()]).toEqual([1, 0]);
    expect([...one.failures, ...two.failures]).toEqual([]);
    await handed.store.close();
    await taken.store.close();
  });

  it('wait for a former process of the former one, too #never-twice', async () => {
    const { clock, server, handed, one } = begin();
    const running = call();
    const asked = one.keys.run(ann, 'key', 'f', running.execute);
    await passing(clock, running.begun);
    const second = await handed.next();
    const third = await second.next();
    const three = processOf(third.store, clock, server, '0c');
    const retry = call();
    const again = three.keys.run(ann, 'key', 'f', retry.execute);
    running.end('{"once":1}');
    expect((await passing(clock, asked)).toString()).toBe('{"once":1}');
    expect((await passing(clock, again)).toString()).toBe('{"once":1}');
    expect(retry.runs()).toBe(0);
    for (const { store } of [handed, second, third]) await store.close();
  });

  it('know the answer of a call that has ended before #never-twice', async () => {
    const { clock, server, handed, one } = begin();
    const ended = call();
    ended.end('"done"');
    await passing(clock, one.keys.run(ann, 'key', 'f', ended.execute));
    const taken = await handed.next();
    const two = processOf(taken.store, clock, server, '0b');
    const retry = call();
    const again = await passing(clock, two.keys.run(ann, 'key', 'f', retry.execute));
    expect(again.toString()).toBe('"done"');
    expect(retry.runs()).toBe(0);
    await handed.store.close();
    await taken.store.close();
  });

  it('say that the outcome is unknown if the former process has died, without waiting for it #never-twice', async () => {
    const { clock, server, handed, one } = begin();
    const running = call();
    one.keys.run(ann, 'key', 'f', running.execute).catch(() => {});
    await passing(clock, running.begun);
    const taken = await handed.next();
    const two = processOf(taken.store, clock, server, '0b');
    one.bus.vanish();
    taken.link.cut();
    const retry = call();
    const begunAt = clock.now();
    const again = two.keys.run(ann, 'key', 'f', retry.execute);
    await expect(passing(clock, again)).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(clock.now() - begunAt).toBeLessThan(1_000);
    expect(retry.runs()).toBe(0);
    await taken.store.close();
  });

  it('are free for the next process where the call of the former one was never sent', async () => {
    const { clock, server, handed, one } = begin();
    const running = call();
    const asked = one.keys.run(ann, 'key', 'f', running.execute);
    await passing(clock, running.begun);
    const taken = await handed.next();
    const two = processOf(taken.store, clock, server, '0b');
    const retry = call();
    const again = two.keys.run(ann, 'key', 'f', retry.execute);
    for (let turn = 0; turn < 20; turn += 1) await settled();
    const { Fault } = await import('../../src/kernel/fault.ts');
    running.fail(new Fault('unavailable', 'it was not sent', { dispatched: 'no' }));
    await expect(passing(clock, asked)).rejects.toMatchObject({ code: 'unavailable' });
    retry.end('"second"');
    expect((await passing(clock, again)).toString()).toBe('"second"');
    expect(retry.runs()).toBe(1);
    await handed.store.close();
    await taken.store.close();
  });
});
