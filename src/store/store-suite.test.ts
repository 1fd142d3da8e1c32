// The claim of CONTRIBUTING.md that a store is one file which passes the suite: a store written here from
// the contract alone passes it, and a store with one promise broken does not.

import { describe, expect, it } from 'vitest';
import { FakeDisk, onFakeDisk } from '../../test/support/fake-disk.ts';
import type { ManualClock } from '../../test/support/manual-clock.ts';
import { storeCases, storeSuite } from '../../test/support/store-suite/store-suite.ts';
import type { StoreSubject } from '../../test/support/store-suite/subject.ts';
import type { Counter } from './contract/counter.ts';
import type { Log } from './contract/log.ts';
import type { Queue } from './contract/queue.ts';
import type { RecordEntry, Records, RecordsOptions } from './contract/records.ts';
import { FileStore } from './file-store.ts';
import { MemoryStore } from './memory-store.ts';
import { assertStoreName, jsonText, type Store } from './store.ts';
import { storeClosed, unsupported } from './store-error.ts';

// --- a store in one file --------------------------------------------------------------------

/** Process-long records on a Map, and nothing else. */
class TinyStore implements Store {
  readonly #clock: ManualClock;
  readonly #texts = new Map<string, { text: string; version: string; expiresAt: number }>();
  #version = 0;
  #isClosed = false;

  constructor(clock: ManualClock) {
    this.#clock = clock;
  }

  records(name: string, { durability, maxEntries }: RecordsOptions): Records {
    assertStoreName(name);
    if (durability !== 'process') throw unsupported('a tiny store', `${durability} records`);
    if (maxEntries !== undefined) throw unsupported('a tiny store', 'records that are counted');
    const find = (key: string): RecordEntry | undefined => {
      if (this.#isClosed) throw storeClosed();
      const kept = this.#texts.get(`${name}\n${key}`);
      if (kept === undefined || kept.expiresAt <= this.#clock.now()) return undefined;
      return { key, value: JSON.parse(kept.text), version: kept.version };
    };
    const write = (key: string, value: unknown, ttlMs = Number.POSITIVE_INFINITY): string => {
      find(key);
      this.#version += 1;
      const version = String(this.#version);
      const expiresAt = this.#clock.now() + ttlMs;
      this.#texts.set(`${name}\n${key}`, { text: jsonText(value), version, expiresAt });
      return version;
    };
    const keys = (prefix: string) =>
      [...this.#texts.keys()]
        .filter((slot) => slot.startsWith(`${name}\n${prefix}`))
        .map((slot) => slot.slice(name.length + 1))
        .sort();
    return {
      get: async (key) => find(key),
      put: async (key, value, options) => write(key, value, options?.ttlMs),
      putIfAbsent: async (key, value, options) => {
        const entry = find(key);
        if (entry !== undefined) return { isPut: false, entry };
        return { isPut: true, version: write(key, value, options?.ttlMs) };
      },
      compareAndSet: async (key, version, value, options) => {
        const entry = find(key);
        if (entry?.version !== version) return { isPut: false, entry };
        return { isPut: true, version: write(key, value, options?.ttlMs) };
      },
      remove: async (key) => void this.#texts.delete(`${name}\n${key}`),
      entries: async (prefix = '') => keys(prefix).flatMap((key) => find(key) ?? []),
      isWhole: async () => true,
    };
  }
  log(): Log {
    throw unsupported('a tiny store', 'logs');
  }
  queue(): Queue {
    throw unsupported('a tiny store', 'queues');
  }
  counter(): Counter {
    throw unsupported('a tiny store', 'counters');
  }
  health() {
    return { ok: true } as const;
  }
  async close() {
    this.#isClosed = true;
  }
  [Symbol.asyncDispose]() {
    return this.close();
  }
}

storeSuite('a store written from the contract alone', {
  offers: { records: ['process'], logs: [], queues: [], counters: [] },
  boundsRecords: false,
  outlivesClosing: false,
  place: () => ({ open: (clock) => new TinyStore(clock) }),
});

// --- broken stores --------------------------------------------------------------------------

const whole: StoreSubject = {
  offers: {
    records: ['process', 'forgetful'],
    logs: ['process', 'forgetful'],
    queues: ['process'],
    counters: ['process', 'forgetful'],
  },
  boundsRecords: true,
  outlivesClosing: false,
  watches: ['process', 'forgetful'],
  place: () => ({ open: (clock) => new MemoryStore({ clock }) }),
};

/** The memory store with one word of it replaced. */
function broken(change: (good: Store, clock: ManualClock) => Partial<Store>): StoreSubject {
  return {
    ...whole,
    place: () => ({
      open: (clock) => {
        const good = new MemoryStore({ clock });
        return {
          records: (...asked) => good.records(...asked),
          log: (...asked) => good.log(...asked),
          queue: (...asked) => good.queue(...asked),
          counter: (...asked) => good.counter(...asked),
          health: () => good.health(),
          close: () => good.close(),
          [Symbol.asyncDispose]: () => good.close(),
          ...change(good, clock),
        };
      },
    }),
  };
}

/** The store on files with something else between it and its disk. */
function brokenFiles(open: (good: FileStore) => Partial<Store>, isKept = true): StoreSubject {
  return {
    ...onFakeDisk,
    place: () => {
      const disk = new FakeDisk();
      return {
        open: (clock) => {
          const good = new FileStore({
            disk: isKept ? disk : new FakeDisk(),
            clock,
            report: () => {},
          });
          return Object.assign(good, open(good));
        },
        refuse: (isRefusing) => {
          if (isRefusing) disk.failing.replace = 'ENOSPC';
          else delete disk.failing.replace;
        },
      };
    },
  };
}

type Changed<Word> = (good: Word, clock: ManualClock) => Partial<Word>;

/** Methods of a class are not own properties, so they are handed on one by one. */
function handedOn<Word extends object>(good: Word, names: readonly (keyof Word & string)[]) {
  return Object.fromEntries(
    names.map((name) => {
      const method = good[name] as (...given: unknown[]) => unknown;
      return [name, method.bind(good)];
    }),
  ) as unknown as Word;
}

const recordWords = [
  'get',
  'put',
  'putIfAbsent',
  'compareAndSet',
  'remove',
  'entries',
  'isWhole',
  'watch',
] as const;

const withRecords = (change: Changed<Records>) =>
  broken((store, clock) => ({
    records: (...asked) => {
      const good = store.records(...asked);
      return { ...handedOn(good, recordWords), ...change(good, clock) };
    },
  }));

const withLog = (change: Changed<Log>) =>
  broken((store, clock) => ({
    log: (...asked) => {
      const good = store.log(...asked);
      return { ...handedOn(good, ['append', 'read', 'trim', 'range']), ...change(good, clock) };
    },
  }));

const withQueue = (change: Changed<Queue>) =>
  broken((store, clock) => ({
    queue: (...asked) => {
      const good = store.queue(...asked);
      const words = ['put', 'claim', 'ack', 'giveBack', 'extend', 'size'] as const;
      return { ...handedOn(good, words), ...change(good, clock) };
    },
  }));

const withCounter = (change: Changed<Counter>) =>
  broken((store, clock) => ({
    counter: (...asked) => {
      const good = store.counter(...asked);
      return { ...handedOn(good, ['take', 'reset']), ...change(good, clock) };
    },
  }));

async function failingCases(subject: StoreSubject): Promise<readonly string[]> {
  const failing: string[] = [];
  for (const { title, run } of storeCases(subject)) {
    await run(subject).catch(() => failing.push(title));
  }
  return failing;
}

const lost = { isPut: false, entry: undefined } as const;

const breaks: readonly (readonly [what: string, subject: StoreSubject, found: string])[] = [
  [
    'compareAndSet ignores the version',
    withRecords((good) => ({
      compareAndSet: async (key, _version, value, options) => ({
        isPut: true,
        version: await good.put(key, value, options),
      }),
    })),
    'process records compare the version before they set, and else tell what is there',
  ],
  [
    'compareAndSet reads and writes in two steps',
    withRecords((good) => ({
      compareAndSet: async (key, version, value, options) => {
        const entry = await good.get(key);
        if (entry?.version !== version) return { isPut: false, entry };
        return { isPut: true, version: await good.put(key, value, options) };
      },
    })),
    'process records lose no change among many that compare and set',
  ],
  [
    'putIfAbsent replaces what is there',
    withRecords((good) => ({
      putIfAbsent: async (key, value, options) => ({
        isPut: true,
        version: await good.put(key, value, options),
      }),
    })),
    'process records let one of many put what is absent',
  ],
  [
    'putIfAbsent does not tell what is there',
    withRecords((good) => ({
      putIfAbsent: async (...asked) => {
        const put = await good.putIfAbsent(...asked);
        return put.isPut ? put : lost;
      },
    })),
    'process records put only what is absent, and else tell what is there',
  ],
  [
    'values live for ever',
    withRecords((good) => ({ put: (key, value) => good.put(key, value) })),
    'process records let a value go at the instant its time is over',
  ],
  [
    'a removal is not told to those who watch',
    withRecords((good) => ({
      watch: (prefix, heard) => {
        let isRemoving = false;
        good.remove = async (key) => {
          isRemoving = true;
          await Object.getPrototypeOf(good).remove.call(good, key);
          isRemoving = false;
        };
        return good.watch?.(prefix, (change) => isRemoving || heard(change)) as Disposable;
      },
      remove: (key) => good.remove(key),
    })),
    'process records tell a watcher of every change of its keys',
  ],
  [
    'the version is the value',
    withRecords((good) => ({
      put: async (...asked) => (await good.put(...asked)) && JSON.stringify(asked[1]),
    })),
    'process records have another version after every change, also to an equal value',
  ],
  [
    'everything is forgetful',
    broken((store) => ({
      records: (name, options) => store.records(name, { ...options, durability: 'forgetful' }),
    })),
    'process records are bounded: a new key is refused, or, where they are forgetful, the oldest makes way',
  ],
  [
    'a durable store is claimed that is none',
    { ...whole, offers: { ...whole.offers, records: ['durable', 'process', 'forgetful'] } },
    'durable records give back values as they were put',
  ],
  [
    'more is offered than is said',
    { ...whole, offers: { ...whole.offers, queues: [] } },
    'process queues are refused when they are opened',
  ],
  [
    'a log begins its numbers anew after a trim',
    withLog((good) => {
      let trimmed = 0;
      return {
        trim: async (before) => {
          await good.trim(before);
          trimmed = (await good.range()).next - 1;
        },
        append: async (value) => (await good.append(value)) - trimmed,
      };
    }),
    'process logs lose what is trimmed, and never give its numbers again',
  ],
  [
    'a log is read without a bound',
    withLog((good) => ({
      read: async ({ from = 0 } = {}) => {
        const all = [];
        for (let start = from; ; ) {
          const page = await good.read({ from: start });
          if (page.length === 0) return all;
          all.push(...page);
          start = (page.at(-1)?.sequence ?? 0) + 1;
        }
      },
    })),
    'process logs give at most a thousand entries in one page',
  ],
  [
    'a late ack of an old claim is taken',
    withQueue((good) => ({ ack: (id) => good.ack(id).catch(() => {}) })),
    'process queues refuse every word of a claim whose item another holds, and leave that one alone',
  ],
  [
    'a lease never ends',
    withQueue((good) => ({ claim: () => good.claim(Number.MAX_SAFE_INTEGER) })),
    'process queues give an item whose lease has ended to the next claimer, as another attempt',
  ],
  [
    'what was given back is lost',
    withQueue((good) => ({ giveBack: (id) => good.ack(id) })),
    'process queues take an item back, at once or after a delay',
  ],
  [
    'an item is gone when it is claimed',
    withQueue((good) => ({
      claim: async (leaseMs) => {
        const claim = await good.claim(leaseMs);
        if (claim !== undefined) await good.ack(claim.id);
        return claim;
      },
    })),
    'process queues lose an item when it is acknowledged, and not before',
  ],
  [
    'a counter looks and takes in two steps',
    withCounter((good) => ({
      take: async (key, amount, window) => {
        const looked = await good.take(key, 0, window);
        if (looked.left < amount) return good.take(key, amount, window);
        await good.take(key, amount, { ...window, limit: Number.MAX_SAFE_INTEGER });
        return { isTaken: true, left: looked.left - amount };
      },
    })),
    'process counters never give more than the limit to many who take at once',
  ],
  [
    'a refused take counts',
    withCounter((good) => ({
      take: async (key, amount, window) => {
        const taken = await good.take(key, amount, window);
        if (!taken.isTaken) await good.take(key, taken.left, window);
        return taken;
      },
    })),
    'process counters give what is left, and refuse more with the time until the window ends',
  ],
  [
    'a durable change resolves although the disk refuses it',
    brokenFiles((good) => {
      const records = good.records.bind(good);
      return { records: (name) => records(name, { durability: 'forgetful' }) };
    }),
    'durable records that the disk refuses are rejected, and read as what is there #durable',
  ],
  [
    'durable records are gone when it is opened again',
    brokenFiles(() => ({}), false),
    'durable records are there when the place is opened again, after a crash too',
  ],
  [
    'it goes on after it was closed',
    broken(() => ({ close: async () => {} })),
    'it closes once, however often it is asked, and takes nothing afterwards',
  ],
];

describe('the suite of the stores', () => {
  it('finds nothing wrong with good ones', async () => {
    expect(await failingCases(whole)).toEqual([]);
    expect(await failingCases(onFakeDisk)).toEqual([]);
  });

  it.each(breaks)('finds a store in which %s #kept-or-refused', async (_, subject, found) => {
    expect(await failingCases(subject)).toContain(found);
  });
});
