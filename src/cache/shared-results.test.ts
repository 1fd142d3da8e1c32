// Public results that replicas share: what one has fetched the others do not fetch, private ones are nobody else's, and a
// store that fails or hangs costs a call and no more.

import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import type { Records } from '../store/contract/records.ts';
import { MemoryStore } from '../store/memory-store.ts';
import { StoreError } from '../store/store-error.ts';
import { isStoredResult, type SharedResult, SharedResults } from './shared-results.ts';

function shared(own?: Records) {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock });
  const records = own ?? store.records('cache', { durability: 'forgetful', shape: isStoredResult });
  const errors: unknown[] = [];
  const caught = (error: unknown) => void errors.push(error);
  const replica = () => new SharedResults({ clock, records: async () => records, caught });
  let fetched = 0;
  const get = (
    at: SharedResults,
    { ttlMs = 1_000, isPublic = true, id = 'id', during = Promise.resolve() } = {},
  ) => {
    let mine: SharedResult | undefined;
    return at.get(
      id,
      'shelf',
      () => {},
      async () => {
        fetched += 1;
        await during;
        const bytes = Buffer.from(`result ${fetched}`);
        if (isPublic) mine = { bytes, ttlMs };
        return bytes;
      },
      () => mine,
    );
  };
  /** Until it has ended; time moves on. */
  const ended = async <T>(work: Promise<T>): Promise<T> => {
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    work.then(over, over);
    for (let turn = 0; turn < 1_000 && !isOver; turn += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      clock.advance(25);
    }
    return await work;
  };
  return { clock, records, replica, get, ended, errors, count: () => fetched };
}

describe('a public result', () => {
  it('is fetched by one replica, and expires for all at once #shared-cache', async () => {
    const { replica, get, count, clock } = shared();
    const [one, two] = [replica(), replica()];
    expect((await get(one)).toString()).toBe('result 1');
    clock.advance(999);
    expect((await get(two)).toString()).toBe('result 1');
    expect(count()).toBe(1);
    clock.advance(1);
    expect((await get(two)).toString()).toBe('result 2');
  });

  it('is fetched once if many replicas ask at once, when its kind is known #shared-cache', async () => {
    const { replica, get, ended, count } = shared();
    const all = [replica(), replica(), replica()];
    for (const one of all) await get(one);
    let finish: () => void = () => {};
    const during = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const asked = all.map((one) => get(one, { id: 'other', during, ttlMs: 60_000 }));
    await new Promise((resolve) => setImmediate(resolve));
    finish();
    const texts = await ended(Promise.all(asked));
    expect(new Set(texts.map(String))).toEqual(new Set(['result 2']));
    expect(count()).toBe(2);
  });

  it('is not waited for longer than ten seconds #shared-cache', async () => {
    const { replica, get, ended, count } = shared();
    const [one, two] = [replica(), replica()];
    await get(one);
    await get(two);
    const never = new Promise<void>(() => {});
    get(one, { id: 'other', during: never }).catch(() => {});
    await ended(get(two, { id: 'other' }));
    expect(count()).toBe(3);
  });

  it('that is large is fetched by each #shared-cache', async () => {
    const { replica, records } = shared();
    const bytes = Buffer.alloc(262_145, 'x');
    const fetched = () => ({ bytes, ttlMs: 1_000 });
    await replica().get(
      'id',
      'shelf',
      () => {},
      async () => bytes,
      fetched,
    );
    expect(await records.entries()).toEqual([]);
  });
});

describe('a private result', () => {
  it('is never stored, and nobody waits for it #shared-cache', async () => {
    const { replica, get, count, records } = shared();
    const [one, two] = [replica(), replica()];
    const during = new Promise<void>(() => {});
    get(one, { isPublic: false, during }).catch(() => {});
    await get(two, { isPublic: false });
    expect([count(), await records.entries()]).toEqual([2, []]);
  });
});

describe('a store', () => {
  it('that fails or hangs costs a call to the server #shared-cache', async () => {
    // A promise must not take it for another promise.
    const records = (work: () => Promise<never>) =>
      new Proxy({} as Records, { get: (_, key) => (key === 'then' ? undefined : work) });
    const fails = records(() => Promise.reject(new StoreError('not_kept', 'it is gone')));
    const failing = shared(fails);
    expect((await failing.get(failing.replica())).toString()).toBe('result 1');
    const hangs = records(() => new Promise(() => {}));
    const hanging = shared(hangs);
    expect((await hanging.ended(hanging.get(hanging.replica()))).toString()).toBe('result 1');
    expect([failing.errors, hanging.errors]).toEqual([[], []]);
  });
});
