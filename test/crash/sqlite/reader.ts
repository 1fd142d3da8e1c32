// Opens one database after the other, each as it was left by a crash or by damage, and says what is in it.
// A program of its own, because a library that meets a damaged file may end the process. The paths come on
// standard input, one a line; each is answered with one line.

import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import type { StoreProblem } from '../../../src/store/problem.ts';
import type { Backend } from '../../../src/store/sqlite/backend.ts';
import type { Store } from '../../../src/store/store.ts';
import { hurriedClock } from '../hurried-clock.ts';
import type { Found, Reading } from './readings.ts';
import { counterKeys, counterLimit, recordKeys, type Written } from './workload.ts';

type DriverModule = typeof import('../../../src/store/sqlite/driver.ts');
type OpenModule = typeof import('../../../src/store/sqlite/open-database.ts');
type ErrorModule = typeof import('../../../src/store/sqlite/open-error.ts');
type StoreModule = typeof import('../../../src/store/sqlite/sqlite-store.ts');

const [build = 'dist'] = process.argv.slice(2);
const load = (file: string) => import(pathToFileURL(join(build, file)).href);
const { loadDriver } = (await load('store/sqlite/driver.js')) as DriverModule;
const { openDatabase } = (await load('store/sqlite/open-database.js')) as OpenModule;
const { OpenError } = (await load('store/sqlite/open-error.js')) as ErrorModule;
const { SqliteStore } = (await load('store/sqlite/sqlite-store.js')) as StoreModule;

process.removeAllListeners('warning');
const durable = { durability: 'durable' } as const;
/** All leases have ended then. */
const later = { ...hurriedClock, wallNow: () => Date.now() + 86_400_000 };

const driver = loadDriver();
if (driver === undefined) throw new Error('no SQLite can be loaded here');
for await (const file of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await readingOf(file)));
}

async function readingOf(file: string): Promise<Reading> {
  const problems: StoreProblem[] = [];
  let store: Store;
  try {
    store = opened(file, (problem) => void problems.push(problem));
  } catch (error) {
    if (!(error instanceof OpenError)) throw error;
    return { kind: 'refused', detail: error.message };
  }
  const reading = await everythingIn(store, problems);
  await store.close();
  return reading;
}

function opened(file: string, report: (problem: StoreProblem) => void): Store {
  if (driver === undefined) throw new Error('no SQLite can be loaded here');
  const { engine, findings } = openDatabase(driver, file);
  const backend: Backend = {
    apply: async (operations) => engine.apply(operations),
    close: async () => engine.close(),
  };
  return new SqliteStore({ backend, file, clock: later, report, findings });
}

async function everythingIn(store: Store, problems: readonly StoreProblem[]): Promise<Reading> {
  const records = store.records('things', durable);
  const found: Record<string, Found> = {};
  for (const key of recordKeys) found[`k${key}`] = await read(() => records.get(key));
  const counts: Record<string, number | null> = {};
  for (const key of counterKeys) counts[`k${key}`] = await taken(store, key);
  const log = await entriesIn(store);
  const queue = await itemsIn(store);
  const isWhole = await records.isWhole();
  const words = problems.map(({ kind, detail }) => `${kind}: ${detail}`);
  return {
    kind: 'read',
    records: found,
    counts,
    ...log,
    ...queue,
    isWhole,
    isWell: store.health().ok,
    problems: words,
  };
}

async function read(get: () => Promise<{ readonly value: unknown } | undefined>): Promise<Found> {
  try {
    const entry = await get();
    return entry === undefined ? { is: 'absent' } : { is: 'there', value: entry.value as Written };
  } catch {
    return { is: 'unreadable' };
  }
}

/** Null if it cannot be read. */
async function taken(store: Store, key: string): Promise<number | null> {
  const window = { limit: counterLimit, windowMs: null };
  try {
    return counterLimit - (await store.counter('counts', durable).take(key, 0, window)).left;
  } catch {
    return null;
  }
}

async function entriesIn(store: Store) {
  const log = store.log('events', durable);
  try {
    const entries = await log.read({ limit: 1_000 });
    const { next } = await log.range();
    return { entries: entries as { sequence: number; value: Written }[], next };
  } catch {
    return { entries: null, next: null };
  }
}

async function itemsIn(store: Store) {
  const queue = store.queue('work', durable);
  const items: Written[] = [];
  try {
    const size = await queue.size();
    for (let claim = await queue.claim(1_000_000); claim; claim = await queue.claim(1_000_000)) {
      items.push(claim.value as Written);
      if (items.length > 2_000) break;
    }
    return { items, size };
  } catch {
    return { items: null, size: null };
  }
}
