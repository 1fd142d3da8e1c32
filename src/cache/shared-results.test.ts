// Public results that replicas share: what one has fetched the others do not fetch, private ones are nobody else's, and a
// store that fails or hangs costs a call and no more.

import { describe, expect, it } from 'vitest';
import { boundRecords } from '../../test/support/bound-records.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { CancelSignal } from '../kernel/cancel-signal.ts';
import type { Records, RecordsHeard } from '../store/contract/records.ts';
import { MemoryStore } from '../store/memory-store.ts';
import { StoreError } from '../store/store-error.ts';
import { isStoredEpoch, SharedEpochs } from './shared-epochs.ts';
import { isStoredResult, type SharedResult, SharedResults } from './shared-results.ts';

function shared(own?: Records) {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock });
  const records = own ?? store.records('cache', { durability: 'forgetful', shape: isStoredResult });
  const errors: unknown[] = [];
  const caught = (error: unknown) => void errors.push(error);
  const epochs = store.records('epochs', { durability: 'process', shape: isStoredEpoch });
  const replica = () => {
    const told: string[] = [];
    const parts = { clock, records: epochs, servers: () => ['server', 'other'], caught };
    const own = new SharedEpochs({ ...parts, told: (server) => void told.push(server) });
    const results = new SharedResults({
      ...{ clock, epochs: own, caught },
      place: async () => ({ records, keyOf: (id) => `hidden ${id}` }),
    });
    return Object.assign(results, {
      told,
      invalidate: (server: string) => own.invalidated(server),
    });
  };
  let fetched = 0;
  const found: SharedResult[] = [];
  const get = async (
    at: SharedResults,
    {
      ttlMs = 1_000,
      isPublic = true,
      id = 'id',
      during = Promise.resolve(),
      signal = new CancelSignal(),
    } = {},
  ) => {
    let mine: SharedResult | undefined;
    const bytes = await at.get(
      { id, server: 'server', shelf: 'shelf' },
      (result) => void found.push(result),
      async () => {
        fetched += 1;
        await during;
        const bytes = Buffer.from(`result ${fetched}`);
        if (isPublic) mine = { bytes, ttlMs };
        return bytes;
      },
      () => mine,
      signal,
    );
    // It is stored behind its answer.
    await new Promise((resolve) => setImmediate(resolve));
    return bytes;
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
  return { clock, records, epochs, replica, get, found, ended, errors, count: () => fetched };
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
      { id: 'id', server: 'server', shelf: 'shelf' },
      () => {},
      async () => bytes,
      fetched,
    );
    expect(await records.entries()).toEqual([]);
  });
});

describe('a public result, whatever the clock of the replica that has fetched it says,', () => {
  it('has the time that the store says is left #shared-cache', async () => {
    const clock = new ManualClock();
    const inner = new MemoryStore({ clock }).records('cache', { durability: 'forgetful' });
    const records: Records = {
      ...boundRecords(inner),
      get: async (key) => {
        const entry = await inner.get(key);
        return entry && { ...entry, leftMs: 400 };
      },
    };
    const { replica, get, found, clock: own } = shared(records);
    await get(replica());
    own.jumpWall(-7_200_000);
    await get(replica());
    expect(found.map(({ ttlMs }) => ttlMs)).toEqual([400]);
  });

  it('never has more than it had at first #shared-cache', async () => {
    const { replica, get, found, clock } = shared();
    clock.jumpWall(7_200_000);
    await get(replica());
    clock.jumpWall(-7_200_000);
    await get(replica());
    expect(found.map(({ ttlMs }) => ttlMs)).toEqual([1_000]);
  });
});

describe('a caller', () => {
  it('that has its answer does not wait for the store #shared-cache', async () => {
    const { replica, records, get } = shared();
    const one = replica();
    Object.assign(records, { put: () => new Promise(() => {}) });
    expect((await get(one)).toString()).toBe('result 1');
  });

  it('that leaves is not kept waiting for another replica #shared-cache', async () => {
    const { replica, get, count } = shared();
    const [one, two] = [replica(), replica()];
    await get(one);
    await get(two);
    get(one, { id: 'other', during: new Promise<void>(() => {}) }).catch(() => {});
    const signal = new CancelSignal();
    const asked = get(two, { id: 'other', signal });
    for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(count()).toBe(2);
    signal.abort();
    await asked;
    expect(count()).toBe(3);
  });

  it('that was slow does not end the claim of the next #shared-cache', async () => {
    const { replica, get, ended, count, clock } = shared();
    const [one, two, three] = [replica(), replica(), replica()];
    for (const each of [one, two, three]) await get(each);
    let slow: () => void = () => {};
    const slowly = new Promise<void>((resolve) => {
      slow = resolve;
    });
    const first = get(one, { id: 'other', during: slowly, isPublic: false });
    // Its claim is over after ten seconds, and the second has one of its own.
    const never = new Promise<void>(() => {});
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(5_000);
    ended(get(two, { id: 'other', during: never })).catch(() => {});
    while (count() < 3) await new Promise((resolve) => setImmediate(resolve));
    slow();
    await first;
    get(three, { id: 'other' }).catch(() => {});
    for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(count()).toBe(3);
  });
});

describe('a public result that is stored between a look and a claim', () => {
  it('is taken, and not fetched again #shared-cache', async () => {
    const { replica, get, records, count, ended } = shared();
    const [one, two] = [replica(), replica()];
    // Both know that results of this kind are public.
    await get(one, { id: 'earlier' });
    await get(two, { id: 'earlier' });
    const putIfAbsent = records.putIfAbsent.bind(records);
    const claim = async (...args: Parameters<Records['putIfAbsent']>) => {
      Object.assign(records, { putIfAbsent });
      await get(one);
      return await putIfAbsent(...args);
    };
    Object.assign(records, { putIfAbsent: claim });
    expect((await ended(get(two))).toString()).toBe('result 2');
    expect(count()).toBe(2);
  });
});

describe('an invalidation', () => {
  it('at one replica ends what all of them share, and tells them #shared-cache', async () => {
    const { replica, get, count } = shared();
    const [one, two] = [replica(), replica()];
    await get(one);
    one.invalidate('other');
    expect((await get(two)).toString()).toBe('result 1');
    two.invalidate('server');
    expect((await get(two)).toString()).toBe('result 2');
    expect((await get(one)).toString()).toBe('result 2');
    expect([one.told, two.told, count()]).toEqual([['other', 'server'], ['other', 'server'], 2]);
  });

  it('ends what was asked for before it and comes after it #shared-cache', async () => {
    const { replica, get } = shared();
    const [one, two] = [replica(), replica()];
    let finish: () => void = () => {};
    const during = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const early = get(one, { during });
    await new Promise((resolve) => setImmediate(resolve));
    two.invalidate('server');
    finish();
    expect((await early).toString()).toBe('result 1');
    expect((await get(two)).toString()).toBe('result 2');
    expect((await get(replica())).toString()).toBe('result 2');
  });

  it('that the store refuses is never gone back behind, and is stored later #shared-cache', async () => {
    const { replica, get, epochs } = shared();
    const [one, two] = [replica(), replica()];
    await get(one);
    const put = epochs.put.bind(epochs);
    const refuse = () => Promise.reject(new StoreError('not_kept', 'it is away'));
    Object.assign(epochs, { put: refuse });
    one.invalidate('server');
    expect((await get(one)).toString()).toBe('result 2');
    expect((await get(one)).toString()).toBe('result 3');
    // Nobody has been told yet.
    expect((await get(two)).toString()).toBe('result 1');
    Object.assign(epochs, { put });
    expect((await get(one)).toString()).toBe('result 4');
    expect((await get(two)).toString()).toBe('result 4');
  });

  it('that the store refused is stored as soon as the store is back, though nobody asks #shared-cache', async () => {
    const { replica, epochs, get, clock } = shared();
    let heard: RecordsHeard = () => {};
    const watch = (_prefix: string, listener: RecordsHeard) => {
      heard = listener;
      return { [Symbol.dispose]: () => {} };
    };
    Object.assign(epochs, { watch });
    const one = replica();
    const back = heard;
    const two = replica();
    await get(two);
    const put = epochs.put.bind(epochs);
    Object.assign(epochs, {
      put: () => Promise.reject(new StoreError('not_kept', 'it is away')),
    });
    one.invalidate('server');
    await new Promise((resolve) => setImmediate(resolve));
    Object.assign(epochs, { put });
    clock.advance(1);
    back({ kind: 'gap' });
    await new Promise((resolve) => setImmediate(resolve));
    expect((await get(two)).toString()).toBe('result 2');
  });

  it('counts from its own moment, also while the store is read #shared-cache', async () => {
    const { replica, get, epochs } = shared();
    const one = replica();
    await get(one);
    const read = epochs.get.bind(epochs);
    const reading = async (key: string) => {
      const entry = await read(key);
      one.invalidate('server');
      return entry;
    };
    Object.assign(epochs, { get: reading });
    expect((await get(one)).toString()).toBe('result 2');
  });

  it('is many times one if many come at once, and too many end the sharing #shared-cache', async () => {
    const { replica, get, epochs } = shared();
    const one = replica();
    let puts = 0;
    const put = epochs.put.bind(epochs);
    const counted: typeof put = async (...args) => {
      puts += 1;
      return await put(...args);
    };
    Object.assign(epochs, { put: counted });
    for (let tool = 0; tool < 100; tool += 1) one.invalidate('server');
    await get(one);
    expect(puts).toBe(2);
    for (let name = 0; name < 1_025; name += 1) one.invalidate(`server ${name}`);
    await new Promise((resolve) => setImmediate(resolve));
    expect((await get(one)).toString()).toBe('result 2');
    expect((await get(one)).toString()).toBe('result 3');
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
