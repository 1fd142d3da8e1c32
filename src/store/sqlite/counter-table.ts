// A counter in the database.

import type { Taken } from '../contract/counter.ts';
import { StoreError } from '../store-error.ts';
import type { CounterOperation } from './operation.ts';
import type { Tables } from './tables.ts';

type Take = Extract<CounterOperation, { readonly action: 'take' }>;

interface Count {
  readonly taken: number;
  /** Null: never. */
  readonly ends: number | null;
}

export function counterResult(tables: Tables, operation: CounterOperation): unknown {
  if (operation.action === 'take') return take(tables, operation);
  return remove(tables, operation.name, operation.key);
}

function take(tables: Tables, operation: Take): Taken {
  const { name, key, amount, limit, windowMs, now } = operation;
  const open = find(tables, name, key, now);
  const left = Math.max(0, limit - (open?.taken ?? 0));
  if (amount > left) {
    const canWait = amount <= limit && open !== undefined && open.ends !== null;
    const retryAfterMs = canWait ? Math.ceil((open.ends ?? 0) - now) : null;
    return { isTaken: false, left, retryAfterMs };
  }
  if (amount > 0) {
    if (open === undefined) makeRoom(tables, operation);
    const ends = open ? open.ends : windowMs === null ? null : now + windowMs;
    tables.save('counter', name, JSON.stringify(key), (open?.taken ?? 0) + amount, ends);
    if (open === undefined) tables.counted('counter', name, 1);
  }
  return { isTaken: true, left: left - amount };
}

/** The open window of the key; one that has ended is removed. */
function find(tables: Tables, name: string, key: string, now: number): Count | undefined {
  const row = tables.select('counter', 'WHERE name = ? AND key = ?').get(name, JSON.stringify(key));
  if (row === undefined) return undefined;
  tables.check('counter', row);
  const ends = row['ends'] === null ? null : Number(row['ends']);
  if (ends === null || now < ends) return { taken: Number(row['taken']), ends };
  remove(tables, name, key);
  return undefined;
}

function makeRoom(tables: Tables, { name, maxEntries, now }: Take): void {
  if (tables.count('counter', name) < maxEntries) return;
  const swept = tables
    .sql('DELETE FROM counter WHERE name = ? AND ends IS NOT NULL AND ends <= ?')
    .run(name, now);
  tables.counted('counter', name, -Number(swept.changes));
  if (tables.count('counter', name) < maxEntries) return;
  throw new StoreError('full', `there is no room for another key of ${name}`);
}

function remove(tables: Tables, name: string, key: string): void {
  const { changes } = tables
    .sql('DELETE FROM counter WHERE name = ? AND key = ?')
    .run(name, JSON.stringify(key));
  tables.counted('counter', name, -Number(changes));
}
