// Records, logs, queues and counters as their callers see them: each word becomes an operation of the
// database, with the time at which it was asked.

import type { Clock } from '../../kernel/clock.ts';
import { isBytes } from '../contract/bytes.ts';
import { assertAmounts, type Counter, type CounterOptions } from '../contract/counter.ts';
import { type Log, type LogOptions, readLimits } from '../contract/log.ts';
import type { Claim, Queue, QueueOptions } from '../contract/queue.ts';
import type { PutOptions, RecordEntry, Records, RecordsOptions } from '../contract/records.ts';
import { usualEntries } from '../memory/room.ts';
import { jsonText } from '../store.ts';
import { StoreError } from '../store-error.ts';
import type { StoredText, StoreOperation } from './operation.ts';
import type { StoredClaim } from './queue-table.ts';

export interface WordParts {
  readonly clock: Clock;
  /** Rejects with a StoreError. */
  readonly run: (operation: StoreOperation) => Promise<unknown>;
  /** Of what is kept in memory only; absent: in the database. */
  readonly memory?: 'process' | 'forgetful';
}

/** Says with each operation where it belongs. */
function asked({ run, memory }: WordParts): WordParts['run'] {
  return memory === undefined ? run : (operation) => run({ ...operation, durability: memory });
}

export function sqliteRecords(
  parts: WordParts,
  name: string,
  { maxEntries = usualEntries, shape = () => true }: RecordsOptions,
): Records {
  const { clock } = parts;
  const run = asked(parts);
  const of = { word: 'records', name } as const;
  const written = (key: string, value: unknown, { ttlMs }: PutOptions = {}) => {
    const now = clock.wallNow();
    const expiresAt = ttlMs === undefined ? null : now + ttlMs;
    return { ...of, now, key, text: storedText(value), expiresAt, maxEntries };
  };
  const ask = async <T>(operation: StoreOperation) => (await run(operation)) as T;
  return {
    takesBytes: true,
    get: async (key) => {
      const entry = await ask<RecordEntry | undefined>({
        ...of,
        action: 'get',
        now: clock.wallNow(),
        key,
      });
      if (entry === undefined || shape(entry.value)) return entry;
      throw new StoreError('unreadable', `${key} of ${name} is not what is kept there`);
    },
    put: async (key, value, options) => ask({ ...written(key, value, options), action: 'put' }),
    putIfAbsent: async (key, value, options) =>
      ask({ ...written(key, value, options), action: 'putIfAbsent' }),
    compareAndSet: async (key, version, value, options) =>
      ask({ ...written(key, value, options), action: 'compareAndSet', version }),
    remove: async (key) => ask({ ...of, action: 'remove', now: clock.wallNow(), key }),
    entries: async (prefix = '') => {
      const all = await ask<readonly RecordEntry[]>({
        ...of,
        action: 'entries',
        now: clock.wallNow(),
        prefix,
      });
      return all.filter(({ value }) => shape(value));
    },
    isWhole: async () => ask({ ...of, action: 'isWhole', now: clock.wallNow() }),
  };
}

export function sqliteLog(
  parts: WordParts,
  name: string,
  { maxEntries = usualEntries }: LogOptions,
): Log {
  const { clock } = parts;
  const run = asked(parts);
  const of = () => ({ word: 'log', name, now: clock.wallNow() }) as const;
  const ask = async <T>(operation: StoreOperation) => (await run(operation)) as T;
  return {
    takesBytes: true,
    append: async (value) => {
      const text = storedText(value);
      return ask({ ...of(), action: 'append', text, maxEntries });
    },
    read: async ({ from = 0, limit = readLimits.usual } = {}) =>
      ask({ ...of(), action: 'read', from, limit: Math.min(limit, readLimits.most) }),
    trim: async (before) => ask({ ...of(), action: 'trim', before }),
    range: async () => ask({ ...of(), action: 'range' }),
  };
}

export function sqliteQueue(
  parts: WordParts,
  name: string,
  { maxEntries = usualEntries }: QueueOptions,
): Queue {
  const { clock } = parts;
  const run = asked(parts);
  const of = () => ({ word: 'queue', name, now: clock.wallNow() }) as const;
  const ask = async <T>(operation: StoreOperation) => (await run(operation)) as T;
  const after = (ms: number) => clock.wallNow() + ms;
  return {
    put: async (value, { delayMs = 0 } = {}) => {
      const text = jsonText(value);
      return ask({ ...of(), action: 'put', text, freeAt: after(delayMs), maxEntries });
    },
    claim: async (leaseMs): Promise<Claim | undefined> => {
      const until = clock.now() + leaseMs;
      const claimed = await ask<StoredClaim | undefined>({
        ...of(),
        action: 'claim',
        until: after(leaseMs),
      });
      return claimed && { ...claimed, until };
    },
    ack: async (claimId) => ask({ ...of(), action: 'ack', claimId }),
    giveBack: async (claimId, { delayMs = 0 } = {}) =>
      ask({ ...of(), action: 'giveBack', claimId, freeAt: after(delayMs) }),
    extend: async (claimId, leaseMs) => {
      const until = clock.now() + leaseMs;
      await run({ ...of(), action: 'extend', claimId, until: after(leaseMs) });
      return until;
    },
    size: async () => ask({ ...of(), action: 'size' }),
  };
}

export function sqliteCounter(
  parts: WordParts,
  name: string,
  { maxEntries = usualEntries }: CounterOptions,
): Counter {
  const { clock } = parts;
  const run = asked(parts);
  const of = () => ({ word: 'counter', name, now: clock.wallNow() }) as const;
  const ask = async <T>(operation: StoreOperation) => (await run(operation)) as T;
  return {
    take: async (key, amount, { limit, windowMs }) => {
      assertAmounts(amount, limit, windowMs);
      return ask({ ...of(), action: 'take', key, amount, limit, windowMs, maxEntries });
    },
    reset: async (key) => ask({ ...of(), action: 'reset', key }),
  };
}

function storedText(value: unknown): StoredText {
  return isBytes(value) ? value : jsonText(value);
}
