import { describe, expect, it } from 'vitest';
import type { Clock } from '../kernel/clock.ts';
import { Fault } from '../kernel/fault.ts';
import type { KeyedRecord } from './idempotency.ts';
import { KeyedIndex } from './keyed-index.ts';
import { KeyedMemory } from './keyed-memory.ts';

function clockAt(startMs: number): Clock & { ms: number } {
  return {
    ms: startMs,
    now() {
      return this.ms;
    },
    wallNow: () => 0,
    after: () => ({ [Symbol.dispose]: () => {} }),
  };
}

const begun: KeyedRecord = { owner: 'ann', fingerprint: 'f', outcome: { kind: 'begun' } };

function result(text: string): KeyedRecord {
  return { owner: 'ann', fingerprint: 'f', outcome: { kind: 'result', bytes: Buffer.from(text) } };
}

describe('idempotency keys in memory', () => {
  it('give a free slot to the first claim and the record to the next', async () => {
    const memory = new KeyedMemory(clockAt(0));
    expect(await memory.claim('a', begun, 10)).toBeUndefined();
    expect(await memory.claim('a', result('other'), 10)).toEqual(begun);
    await memory.put('a', result('done'), 10);
    expect(await memory.claim('a', begun, 10)).toEqual(result('done'));
    await memory.free('a');
    expect(await memory.claim('a', begun, 10)).toBeUndefined();
  });

  it('forget a record at the end of its time, counted from the last write', async () => {
    const clock = clockAt(0);
    const memory = new KeyedMemory(clock);
    await memory.claim('a', begun, 10);
    clock.ms = 5;
    await memory.put('a', result('done'), 10);
    clock.ms = 14;
    expect(await memory.claim('a', begun, 10)).toEqual(result('done'));
    clock.ms = 15;
    expect(await memory.claim('a', begun, 10)).toBeUndefined();
    expect(memory.bytes).toBe(0);
  });

  it('refuse a new key rather than forget one that is in its time', async () => {
    const clock = clockAt(0);
    const memory = new KeyedMemory(clock, { maxKeys: 2, maxKeysPerPrincipal: 2, maxBytes: 1_000 });
    await memory.claim('a', begun, 10);
    await memory.claim('b', begun, 20);
    await expect(memory.claim('c', begun, 10)).rejects.toMatchObject({
      code: 'overloaded',
      record: { dispatched: 'no', retryable: true },
    });
    expect(await memory.claim('a', begun, 10)).toEqual(begun);
    await memory.put('b', result('done'), 20);
    clock.ms = 10;
    expect(await memory.claim('c', begun, 10)).toBeUndefined();
  });

  it('are free again at their own times, and a refusal says when #no-growth', async () => {
    const clock = clockAt(0);
    const memory = new KeyedMemory(clock, { maxKeys: 8, maxKeysPerPrincipal: 3, maxBytes: 1_000 });
    for (const [slot, ttlMs] of [
      ['day', 5_000],
      ['b', 100],
      ['c', 700],
    ] as const) {
      await memory.claim(slot, begun, ttlMs);
    }
    const refused = (retryAfterMs: number) => ({ code: 'overloaded', record: { retryAfterMs } });
    await expect(memory.claim('d', begun, 10)).rejects.toMatchObject(refused(100));
    clock.ms = 100;
    expect(await memory.claim('d', begun, 10_000)).toBeUndefined();
    await expect(memory.claim('e', begun, 10)).rejects.toMatchObject(refused(600));
    expect(await memory.claim('day', result('other'), 10)).toEqual(begun);
  });

  it('leave some for one who has few, however many take what they can #principal-share', async () => {
    const limits = { maxKeys: 64, maxKeysPerPrincipal: 48, maxBytes: 1_000 };
    const memory = new KeyedMemory(clockAt(0), limits);
    const claim = (owner: string, key: number) =>
      memory.claim(`${owner} ${key}`, { ...begun, owner }, 10).then(
        () => true,
        () => false,
      );
    const taken: number[] = [];
    for (const greedy of ['ann', 'bob', 'cat']) {
      let count = 0;
      while (await claim(greedy, count)) count += 1;
      taken.push(count);
    }
    expect(taken).toEqual([48, 12, 3]);
    expect(await claim('dan', 0)).toBe(true);
  });

  it('weigh a replaced answer once', async () => {
    const memory = new KeyedMemory(clockAt(0));
    await memory.put('a', result('12345678'), 10);
    await memory.put('a', result('1234'), 10);
    expect(memory.bytes).toBe(4);
  });

  it('let the oldest answers go when they take too much, but keep their keys', async () => {
    const memory = new KeyedMemory(clockAt(0), {
      maxKeys: 10,
      maxKeysPerPrincipal: 10,
      maxBytes: 10,
    });
    for (const slot of ['a', 'b', 'c']) await memory.put(slot, result('1234'), 10);
    expect(memory.bytes).toBe(8);
    expect(await memory.claim('a', begun, 10)).toEqual({
      owner: 'ann',
      fingerprint: 'f',
      outcome: { kind: 'dropped' },
    });
    expect(await memory.claim('b', begun, 10)).toEqual(result('1234'));
    await memory.put('d', result('far too much'), 10);
    expect(memory.bytes).toBe(0);
    expect((await memory.claim('d', begun, 10))?.outcome.kind).toBe('dropped');
  });

  it('do not keep the frame alive that a result was cut from', async () => {
    const frame = Buffer.alloc(1_000_000, 'x');
    const memory = new KeyedMemory(clockAt(0));
    const bytes = frame.subarray(10, 20);
    await memory.put(
      'a',
      { owner: 'ann', fingerprint: 'f', outcome: { kind: 'result', bytes } },
      10,
    );
    const kept = await memory.claim('a', begun, 10);
    expect(kept?.outcome.kind === 'result' && kept.outcome.bytes.buffer.byteLength).toBe(10);
  });

  it('of one principal never use up those of another, and are gone after their time #no-growth', async () => {
    const clock = clockAt(0);
    const limits = { maxKeys: 8, maxKeysPerPrincipal: 6, maxBytes: 1_000 };
    const memory = new KeyedMemory(clock, limits);
    const claim = (owner: string, key: number) =>
      memory.claim(`${owner} ${key}`, { ...begun, owner }, 10).catch(({ code }) => code);
    for (let key = 0; key < 6; key++) expect(await claim('ann', key)).toBeUndefined();
    expect(await claim('ann', 6)).toBe('overloaded');
    expect(await claim('bob', 0)).toBeUndefined();
    await memory.free('ann 0');
    expect(await claim('ann', 6)).toBeUndefined();
    for (let round = 0; round < 100; round++) {
      clock.ms += 10;
      expect(await claim(`principal ${round}`, 0)).toBeUndefined();
    }
    expect(memory.size).toEqual({ keys: 1, principals: 1 });
  });
});

describe('the keys of a principal', () => {
  it('lose their answers to nobody who has more bytes of them #principal-share', async () => {
    const limits = { maxKeys: 100, maxKeysPerPrincipal: 100, maxBytes: 100 };
    const memory = new KeyedMemory(clockAt(0), limits);
    const put = (slot: string, owner: string, bytes: number) =>
      memory.put(slot, { ...result('x'.repeat(bytes)), owner }, 10);
    const kinds = async (...slots: string[]) => {
      const kept = await Promise.all(slots.map((slot) => memory.claim(slot, begun, 10)));
      return kept.map((record) => record?.outcome.kind);
    };
    await put('order', 'token:modest', 10);
    const paths = ['', '/server/s', '/role/r', '', ''];
    for (const [count, path] of paths.entries()) await put(`${count}`, `token:greedy${path}`, 30);
    expect(await kinds('order', '0', '1', '2', '3', '4')).toEqual([
      'result',
      'dropped',
      'dropped',
      'result',
      'result',
      'result',
    ]);
    await put('more', 'token:modest', 40);
    expect(await kinds('order', 'more', '2', '3', '4')).toEqual([
      'result',
      'result',
      'dropped',
      'dropped',
      'result',
    ]);
    expect(memory.bytes).toBe(80);
  });

  it('are one share for all its paths #principal-share', () => {
    const index = new KeyedIndex({ maxKeys: 10, maxKeysPerPrincipal: 2, maxBytes: 10 });
    index.wrote('1', 'token:a', 0, 1);
    index.wrote('2', 'token:a/server/s', 0, 1);
    for (const id of ['token:a', 'token:a/server/s', 'token:a/role/r']) {
      expect(() => index.assertRoomFor(id, 0)).toThrow(Fault);
    }
    expect(() => index.assertRoomFor('token:b', 0)).not.toThrow();
    index.forget('2');
    expect(() => index.assertRoomFor('token:a/role/r', 0)).not.toThrow();
  });
});
