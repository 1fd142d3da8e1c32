import { describe, expect, it } from 'vitest';
import { boundRecords as bound } from '../../test/support/bound-records.ts';
import { ManualClock, settled } from '../../test/support/manual-clock.ts';
import { NatsError } from '../nats/nats-error.ts';
import type { Records } from '../store/contract/records.ts';
import { MemoryStore } from '../store/memory-store.ts';
import { StoreError } from '../store/store-error.ts';
import type { KeyedRecord } from './idempotency.ts';
import { KeyedRecords } from './keyed-records.ts';
import { isStoredKey } from './stored-key.ts';
import { WaitingAnswers } from './waiting-answers.ts';

const begun: KeyedRecord = { owner: 'ann', fingerprint: 'f', outcome: { kind: 'begun' } };
const result = (text: string, owner = 'ann'): KeyedRecord => ({
  owner,
  fingerprint: 'f',
  outcome: { kind: 'result', bytes: Buffer.from(text) },
});

function opened(limits = { maxKeys: 10, maxKeysPerPrincipal: 6, maxBytes: 100 }) {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock, claims: 'durable' });
  const keys = store.records('keys', { durability: 'durable' });
  const answers = store.records('key-answers', { durability: 'durable' });
  const again = (changed: { keys?: Records; answers?: Records; waiting?: WaitingAnswers } = {}) =>
    new KeyedRecords({
      clock,
      keys: changed.keys ?? keys,
      answers: async () => changed.answers ?? answers,
      limits,
      ...(changed.waiting && { waiting: changed.waiting }),
    });
  return { clock, keys, answers, again, keyed: again() };
}

describe('idempotency keys in a durable store', () => {
  it('give a free slot to the first claim, and the record to the next, in another process too', async () => {
    const { keyed, again } = opened();
    expect(await keyed.claim('a', begun, 1_000)).toBeUndefined();
    expect(await again().claim('a', begun, 1_000)).toEqual(begun);
    await keyed.put('a', result('done'), 1_000);
    expect(await again().claim('a', begun, 1_000)).toEqual(result('done'));
    const fault = { code: 'timeout', detail: 'late', server: 's', dispatched: 'maybe' } as never;
    await keyed.put('b', { ...begun, outcome: { kind: 'fault', record: fault } }, 1_000);
    expect((await again().claim('b', begun, 1_000))?.outcome).toEqual({
      kind: 'fault',
      record: fault,
    });
    await keyed.free('a');
    expect(await again().claim('a', begun, 1_000)).toBeUndefined();
  });

  it('keep a key whose answer is gone, or cannot be read, as one that was used', async () => {
    const { keyed, again, answers } = opened();
    await keyed.claim('a', begun, 1_000);
    await keyed.put('a', result('done'), 1_000);
    const unreadable = { ...answers, get: () => Promise.reject(new StoreError('unreadable', '')) };
    const dropped = { ...begun, outcome: { kind: 'dropped' } };
    expect(await again({ answers: unreadable }).claim('a', begun, 1_000)).toEqual(dropped);
    await answers.remove('a');
    expect(await again().claim('a', begun, 1_000)).toEqual(dropped);
  });

  it('say of an answer whose server cannot be reached that it is kept, and not that it is dropped #idempotency-key', async () => {
    const { keyed, again, answers } = opened();
    await keyed.claim('a', begun, 1_000);
    await keyed.put('a', result('done'), 1_000);
    const away = new StoreError('unreadable', '', new NatsError('lost', 'as the test says'));
    const unreached = again({ answers: { ...answers, get: () => Promise.reject(away) } });
    await expect(unreached.claim('a', begun, 1_000)).rejects.toMatchObject({
      code: 'outcome_unknown',
      dispatched: 'yes',
      message: expect.stringContaining('send it again under the same key'),
    });
    expect(await again().claim('a', begun, 1_000)).toEqual(result('done'));
  });

  it('are bounded, for each caller and together, and drop the oldest answers but no key', async () => {
    const { keyed, again, clock, answers } = opened();
    for (let number = 0; number < 6; number += 1) {
      await keyed.claim(`a${number}`, begun, 1_000);
      await keyed.put(`a${number}`, result('x'.repeat(30)), 1_000);
    }
    expect(await answers.entries()).toHaveLength(3);
    expect((await again().claim('a0', begun, 1_000))?.outcome).toEqual({ kind: 'dropped' });
    // They count no more, in another process either.
    const other = again();
    await other.put('a5', result('x'.repeat(30)), 1_000);
    expect(await answers.entries()).toHaveLength(3);
    expect((await again().claim('a5', begun, 1_000))?.outcome.kind).toBe('result');
    const overloaded = expect.objectContaining({ code: 'overloaded' });
    for (const one of [keyed, again()]) {
      await expect(one.claim('a6', begun, 1_000)).rejects.toEqual(overloaded);
    }
    const bob = { ...begun, owner: 'bob' };
    for (let number = 0; number < 3; number += 1) await keyed.claim(`b${number}`, bob, 1_000);
    // The last one is for somebody who has fewer.
    await expect(keyed.claim('b3', bob, 1_000)).rejects.toEqual(overloaded);
    expect(await keyed.claim('c0', { ...begun, owner: 'cat' }, 1_000)).toBeUndefined();
    await expect(keyed.claim('d0', { ...begun, owner: 'dan' }, 1_000)).rejects.toMatchObject({
      code: 'overloaded',
      record: { retryAfterMs: 1_000 },
    });
    clock.advance(1_000);
    expect(await keyed.claim('a6', begun, 1_000)).toBeUndefined();
  });

  it('store no more answers at once than may wait for the disk, of one caller and in all; their keys say so #no-growth #principal-share', async () => {
    const { again, answers, clock } = opened({
      maxKeys: 20,
      maxKeysPerPrincipal: 15,
      maxBytes: 900,
    });
    let store: () => void = () => {};
    const isStored = new Promise<void>((resolve) => {
      store = resolve;
    });
    const asked: string[] = [];
    const slow: Records = {
      ...bound(answers),
      put: async (slot, value, options) => {
        asked.push(slot);
        await isStored;
        return await answers.put(slot, value, options);
      },
    };
    const waiting = new WaitingAnswers(200);
    const keyed = again({ answers: slow, waiting });
    const put = async (slot: string, owner: string, bytes: number) => {
      await keyed.claim(slot, { ...begun, owner }, 1_000);
      return keyed.put(slot, result('x'.repeat(bytes), owner), 1_000);
    };
    const slots = ['a0', 'a1', 'a2', 'a3', 'a4'];
    const puts: Promise<void>[] = [];
    for (const slot of slots) puts.push(put(slot, 'ann', 50));
    await Promise.all(puts.slice(3));
    expect(waiting.size).toEqual({ bytes: 150, owners: 1 });
    puts.push(put('b0', 'bob', 50));
    await put('c0', 'cat', 50);
    await settled();
    expect(asked).toEqual(['a0', 'a1', 'a2', 'b0']);
    store();
    await Promise.all(puts);
    expect(waiting.size).toEqual({ bytes: 0, owners: 0 });
    const kinds: unknown[] = [];
    for (const slot of [...slots, 'b0', 'c0']) {
      kinds.push((await again().claim(slot, begun, 1_000))?.outcome.kind);
    }
    const [kept, dropped] = ['result', 'dropped'];
    expect(kinds).toEqual([kept, kept, kept, dropped, dropped, kept, dropped]);
    clock.advance(1_000);
    // Alone it may be larger than the share of one caller.
    await put('a9', 'ann', 300);
    expect((await again().claim('a9', begun, 1_000))?.outcome.kind).toBe(kept);
  });

  it('refuse a new key while keys may be missing, and answer those that are there #idempotency-key', async () => {
    const { keyed, again, keys } = opened();
    await keyed.claim('a', begun, 1_000);
    const torn = again({ keys: { ...bound(keys), isWhole: async () => false } });
    await expect(torn.claim('b', begun, 1_000)).rejects.toMatchObject({ code: 'overloaded' });
    expect(await torn.claim('a', begun, 1_000)).toEqual(begun);
  });

  it('do not count a key that the store has refused #idempotency-key', async () => {
    const { again, keys } = opened({ maxKeys: 1, maxKeysPerPrincipal: 1, maxBytes: 100 });
    let isRefusing = true;
    const put: Records['putIfAbsent'] = async (...given) => {
      if (isRefusing) throw new StoreError('not_kept', 'the disk is full');
      return keys.putIfAbsent(...given);
    };
    const keyed = again({ keys: { ...bound(keys), putIfAbsent: put } });
    const refused = expect.objectContaining({ reason: 'not_kept' });
    await expect(keyed.claim('a', begun, 1_000)).rejects.toEqual(refused);
    isRefusing = false;
    expect(await keyed.claim('b', begun, 1_000)).toBeUndefined();
  });

  it('know what is a stored key', () => {
    const good = { owner: 'a', fingerprint: 'f', state: 'begun', bytes: 0, expiresAt: 1 };
    expect(isStoredKey(good)).toBe(true);
    for (const key of Object.keys(good)) {
      expect(isStoredKey({ ...good, [key]: Symbol.iterator })).toBe(false);
    }
    expect(isStoredKey(null)).toBe(false);
  });
});
