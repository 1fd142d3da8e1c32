import { describe, expect, it } from 'vitest';
import { boundRecords } from '../../test/support/bound-records.ts';
import { ManualClock, settled } from '../../test/support/manual-clock.ts';
import { CancelSignal } from '../kernel/cancel-signal.ts';
import { Fault } from '../kernel/fault.ts';
import type { Records } from '../store/contract/records.ts';
import { MemoryStore } from '../store/memory-store.ts';
import { StoreError } from '../store/store-error.ts';
import { IdempotencyKeys, type KeyedRecord } from './idempotency.ts';
import type { ClaimState } from './key-claims.ts';
import { KeyedRecords } from './keyed-records.ts';
import type { Principal } from './principal.ts';

const begun: KeyedRecord = { owner: 'ann', fingerprint: 'f', outcome: { kind: 'begun' } };
const result = (text: string): KeyedRecord => ({
  ...begun,
  outcome: { kind: 'result', bytes: Buffer.from(text) },
});
const ttlMs = 86_400_000;

/** Two replicas on one store, whose connection each can lose: before a change is made, or before it is acknowledged. */
function replicas() {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock, claims: 'durable' });
  const keys = store.records('keys', { durability: 'durable' });
  const answers = store.records('key-answers', { durability: 'durable' });
  const alive = new Set(['one', 'two']);
  const claims = new Map<string, (claim: string) => ClaimState>();
  let isBusLost = false;
  const asked: string[] = [];
  const replica = (id: string) => {
    const trouble = { before: 0, after: 0, reads: 0 };
    const lost = () => new StoreError('not_kept', 'the connection was lost');
    const change = async <T>(work: () => Promise<T>): Promise<T> => {
      if (trouble.before > 0) {
        trouble.before -= 1;
        throw lost();
      }
      const changed = await work();
      if (trouble.after === 0) return changed;
      trouble.after -= 1;
      throw lost();
    };
    const faulty = (records: Records): Records => ({
      ...boundRecords(records),
      get: async (key) => {
        if (trouble.reads === 0) return await records.get(key);
        trouble.reads -= 1;
        throw new StoreError('unreadable', 'the connection was lost');
      },
      put: (...given) => change(() => records.put(...given)),
      putIfAbsent: (...given) => change(() => records.putIfAbsent(...given)),
      compareAndSet: (...given) => change(() => records.compareAndSet(...given)),
      remove: (key) => change(() => records.remove(key)),
    });
    const keyed = new KeyedRecords({
      clock,
      keys: faulty(keys),
      answers: async () => faulty(answers),
      replicas: {
        id,
        isAlive: async (other) => alive.has(other),
        claimAt: async (other, claim) => {
          asked.push(other);
          if (isBusLost) throw new Error('the bus is lost');
          return alive.has(other) ? (claims.get(other)?.(claim) ?? 'none') : 'gone';
        },
        answerClaims: (stateOf) => void claims.set(id, stateOf),
      },
    });
    return { keyed, trouble };
  };
  const loseBus = () => {
    isBusLost = true;
  };
  const [one, two] = [replica('one'), replica('two')];
  return { clock, keys, alive, asked, one, two, loseBus };
}

/** Until it has ended, with time going on; `ms` at most. */
async function ended<T>(clock: ManualClock, work: Promise<T>, ms = 20_000): Promise<T> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  work.then(over, over);
  for (let passed = 0; passed < ms && !isOver; passed += 100) {
    await settled();
    clock.advance(100);
    await settled();
  }
  if (!isOver) throw new Error(`it has not ended within ${ms} ms`);
  return await work;
}

const notKept = expect.objectContaining({ reason: 'not_kept' });

describe('idempotency keys that replicas share', () => {
  it('are answered by the replica that has the call, wherever they are repeated #shared-keys', async () => {
    const { one, two, clock } = replicas();
    expect(await one.keyed.claim('a', begun, ttlMs)).toBeUndefined();
    const repeated = two.keyed.claim('a', begun, ttlMs);
    await one.keyed.put('a', result('done'), ttlMs);
    expect(await ended(clock, repeated)).toEqual(result('done'));
    expect(one.keyed.size).toEqual({ claims: 0, later: 0 });
  });

  it('are free for another replica if the first has not run the call #shared-keys', async () => {
    const { one, two, clock } = replicas();
    await one.keyed.claim('a', begun, ttlMs);
    const repeated = two.keyed.claim('a', begun, ttlMs);
    await one.keyed.free('a');
    expect(await ended(clock, repeated)).toBeUndefined();
    expect(one.keyed.size).toEqual({ claims: 0, later: 0 });
  });

  it('have an unknown outcome when the replica that had the call is gone #shared-keys', async () => {
    const { one, two, clock, alive } = replicas();
    await one.keyed.claim('a', begun, ttlMs);
    alive.delete('one');
    expect(await ended(clock, two.keyed.claim('a', begun, ttlMs), 100)).toEqual(begun);
    expect(await two.keyed.claim('b', begun, ttlMs)).toBeUndefined();
  });

  it('are not waited for by another request #shared-keys', async () => {
    const { one, two } = replicas();
    await one.keyed.claim('a', begun, ttlMs);
    const other = { ...begun, fingerprint: 'g' };
    expect(await two.keyed.claim('a', other, ttlMs)).toEqual(begun);
  });

  it('keep an outcome that could not be stored at first, and give it out here meanwhile #shared-keys', async () => {
    const { one, two, clock } = replicas();
    await one.keyed.claim('a', begun, ttlMs);
    one.trouble.before = 3;
    await expect(one.keyed.put('a', result('done'), ttlMs)).rejects.toEqual(notKept);
    expect(await one.keyed.claim('a', begun, ttlMs)).toEqual(result('done'));
    expect(await ended(clock, two.keyed.claim('a', begun, ttlMs))).toEqual(result('done'));
    expect(one.keyed.size).toEqual({ claims: 0, later: 0 });
  });

  it('are not waited for once their outcome is given up, nor where nobody works on them #shared-keys #no-growth', async () => {
    const { one, two, clock } = replicas();
    await one.keyed.claim('a', begun, ttlMs);
    one.trouble.before = 1_000;
    await expect(one.keyed.put('a', result('done'), ttlMs)).rejects.toEqual(notKept);
    for (let step = 0; step < 1_000; step += 1) {
      clock.advance(1_000);
      await settled();
    }
    expect(one.keyed.size).toEqual({ claims: 0, later: 0 });
    expect(await ended(clock, two.keyed.claim('a', begun, ttlMs), 100)).toEqual(begun);
  });

  it('can be taken at once from a replica that could not free them #shared-keys', async () => {
    for (const kind of ['before', 'after'] as const) {
      const { one, two, clock } = replicas();
      await one.keyed.claim('a', begun, ttlMs);
      one.trouble[kind] = 1;
      await expect(one.keyed.free('a')).rejects.toEqual(notKept);
      expect(await ended(clock, two.keyed.claim('a', begun, ttlMs), 100)).toBeUndefined();
      await two.keyed.put('a', result('of two'), ttlMs);
      // What the first tries again takes nothing from the second.
      expect(await ended(clock, one.keyed.claim('a', begun, ttlMs))).toEqual(result('of two'));
      clock.advance(120_000);
      await settled();
      expect(await one.keyed.claim('a', begun, ttlMs)).toEqual(result('of two'));
    }
  });

  it('are used where their claim was stored and only its acknowledgement was lost #shared-keys', async () => {
    const { one, two, clock } = replicas();
    one.trouble.after = 1;
    expect(await one.keyed.claim('a', begun, ttlMs)).toBeUndefined();
    await one.keyed.put('a', result('done'), ttlMs);
    expect(await ended(clock, two.keyed.claim('a', begun, ttlMs))).toEqual(result('done'));
  });

  it('are free for everybody where nobody knows whether the claim was stored #shared-keys', async () => {
    for (const taker of ['one', 'two'] as const) {
      const all = replicas();
      const { one, clock } = all;
      one.trouble.after = 1;
      one.trouble.reads = 1;
      await expect(one.keyed.claim('a', begun, ttlMs)).rejects.toEqual(notKept);
      expect(await ended(clock, all[taker].keyed.claim('a', begun, ttlMs), 100)).toBeUndefined();
      for (let step = 0; step < 200; step += 1) {
        clock.advance(1_000);
        await settled();
      }
      // It is still that of whoever has taken it.
      const own = all[taker].keyed.size;
      expect(own.claims).toBe(1);
      await all[taker].keyed.put('a', result('done'), ttlMs);
      const other = taker === 'one' ? all.two : all.one;
      expect(await ended(clock, other.keyed.claim('a', begun, ttlMs))).toEqual(result('done'));
    }
  });

  it('are waited for as long as their caller has time, and no longer than it wants #shared-keys', async () => {
    const { one, two, clock } = replicas();
    await one.keyed.claim('a', begun, ttlMs);
    const late = two.keyed.claim('a', begun, ttlMs, { withinMs: 3_000 });
    expect(await ended(clock, late, 4_000)).toEqual(begun);
    const signal = new CancelSignal();
    const left = two.keyed.claim('a', begun, ttlMs, { signal });
    await settled();
    signal.abort();
    await expect(left).rejects.toMatchObject({ code: 'cancelled', dispatched: 'maybe' });
  });

  it('are waited for while the replica that has them runs, also for longer than a quarter of an hour #shared-keys #broker-once', async () => {
    const { one, two, clock } = replicas();
    const longMs = 3_600_000;
    await one.keyed.claim('a', begun, longMs);
    const waiting = two.keyed.claim('a', begun, longMs, { withinMs: longMs });
    let isOver = false;
    const over = waiting.then(() => {
      isOver = true;
    });
    for (let minute = 0; minute < 16; minute += 1) {
      for (let look = 0; look < 600; look += 1) await clock.advanceAsync(100);
    }
    expect(isOver).toBe(false);
    await one.keyed.put('a', result('done'), longMs);
    expect(await ended(clock, waiting)).toEqual(result('done'));
    await over;
  });
});

describe('a call that another replica was seen to have', () => {
  const ann: Principal = { id: 'token:ann', role: 'writer' };
  const unsent = () => Promise.reject(new Fault('internal', 'it ran'));

  it('has an unknown outcome when the store stays away, and its answer when it comes back #shared-keys', async () => {
    const { one, two, clock } = replicas();
    const first = new IdempotencyKeys(one.keyed, () => {});
    let answer: (bytes: Buffer) => void = () => {};
    const running = first.run(ann, 'k', 'f', () => new Promise((resolve) => (answer = resolve)));
    await settled();
    const second = new IdempotencyKeys(two.keyed, () => {});
    const repeated = second.run(ann, 'k', 'f', unsent);
    await settled();
    two.trouble.reads = 1_000;
    await expect(ended(clock, repeated)).rejects.toMatchObject({
      code: 'outcome_unknown',
      dispatched: 'maybe',
    });
    const again = second.run(ann, 'k', 'f', unsent);
    await settled();
    two.trouble.reads = 3;
    answer(Buffer.from('done'));
    expect(`${await ended(clock, again)}`).toBe('done');
    expect(`${await running}`).toBe('done');
  });

  it('is waited for while that replica cannot be asked #shared-keys', async () => {
    const { one, two, clock, loseBus, asked } = replicas();
    await one.keyed.claim('a', begun, ttlMs);
    loseBus();
    const repeated = two.keyed.claim('a', begun, ttlMs);
    await settled();
    await one.keyed.put('a', result('done'), ttlMs);
    expect(await ended(clock, repeated)).toEqual(result('done'));
    expect(asked).toEqual(['one']);
  });

  it('may have run when its caller leaves #shared-keys', async () => {
    const { one, two } = replicas();
    const first = new IdempotencyKeys(one.keyed, () => {});
    first.run(ann, 'k', 'f', () => new Promise(() => {})).catch(() => {});
    await settled();
    const second = new IdempotencyKeys(two.keyed, () => {});
    const signal = new CancelSignal();
    const repeated = second.run(ann, 'k', 'f', unsent, { signal, hasLeft: () => false });
    await settled();
    signal.abort();
    await expect(repeated).rejects.toMatchObject({ code: 'cancelled', dispatched: 'maybe' });
    await settled();
    expect(second.running).toBe(0);
  });
});
