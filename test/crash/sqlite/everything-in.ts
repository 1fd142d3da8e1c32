// Everything that a store holds of a workload, as it is found: records, counts, log entries and queue items. The items
// are claimed and given back. The clock of the store must be so late that the leases of the workload have ended.

import type { StoreProblem } from '../../../src/store/problem.ts';
import type { Store } from '../../../src/store/store.ts';
import type { Found, Reading } from './readings.ts';
import { counterKeys, counterLimit, recordKeys, type Written } from './workload.ts';

const durable = { durability: 'durable' } as const;
const leaseMs = 1_000_000;

export async function everythingIn(
  store: Store,
  problems: readonly StoreProblem[],
): Promise<Reading> {
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
    const claims: string[] = [];
    for (let claim = await queue.claim(leaseMs); claim; claim = await queue.claim(leaseMs)) {
      items.push(claim.value as Written);
      claims.push(claim.id);
      if (items.length > 2_000) break;
    }
    for (const claim of claims) await queue.giveBack(claim);
    return { items, size };
  } catch {
    return { items: null, size: null };
  }
}
