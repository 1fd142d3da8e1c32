// Records in the database. A value whose time is over is absent at once; its row is removed by the next
// sweep, or when there is no room for another.

import type { ConditionalPut, RecordEntry } from '../contract/records.ts';
import { StoreError } from '../store-error.ts';
import type { Row } from './driver.ts';
import type { RecordOperation, StoredText } from './operation.ts';
import { type Tables, valueIn } from './tables.ts';

type Put = Extract<RecordOperation, { readonly text: StoredText }>;

export function recordsResult(tables: Tables, operation: RecordOperation): unknown {
  const { name, now } = operation;
  switch (operation.action) {
    case 'get':
      return find(tables, name, operation.key, now);
    case 'put':
      return write(tables, operation);
    case 'putIfAbsent': {
      const entry = find(tables, name, operation.key, now);
      return putUnless(tables, operation, entry !== undefined, entry);
    }
    case 'compareAndSet': {
      const entry = find(tables, name, operation.key, now);
      return putUnless(tables, operation, entry?.version !== operation.version, entry);
    }
    case 'remove':
      return remove(tables, name, operation.key);
    case 'entries':
      return entries(tables, name, operation.prefix, now);
    case 'isWhole':
      // As far as these rows say.
      return true;
    case 'sweep':
      return sweep(tables, now);
  }
}

function putUnless(
  tables: Tables,
  operation: Put,
  isRefused: boolean,
  entry: RecordEntry | undefined,
): ConditionalPut {
  if (isRefused) return { isPut: false, entry };
  return { isPut: true, version: write(tables, operation) };
}

function rowOf(tables: Tables, name: string, key: string): Row | undefined {
  return tables.select('records', 'WHERE name = ? AND key = ?').get(name, JSON.stringify(key));
}

function find(tables: Tables, name: string, key: string, now: number): RecordEntry | undefined {
  const row = rowOf(tables, name, key);
  if (row === undefined) return undefined;
  // Its end could be what is damaged.
  tables.check('records', row);
  return isLive(row, now) ? entryIn(row) : undefined;
}

function isLive({ expires }: Row, now: number): boolean {
  return expires === null || now < Number(expires);
}

function entryIn({ key, text, version }: Row): RecordEntry {
  return {
    key: JSON.parse(String(key)),
    value: valueIn(text),
    version: String(version),
  };
}

function write(tables: Tables, { name, key, text, expiresAt, maxEntries, now }: Put): string {
  const isNew = rowOf(tables, name, key) === undefined;
  if (isNew) makeRoom(tables, name, maxEntries, now);
  const version = tables.next('record versions');
  tables.save('records', name, JSON.stringify(key), text, version, expiresAt);
  if (isNew) tables.counted('records', name, 1);
  return String(version);
}

function makeRoom(tables: Tables, name: string, maxEntries: number, now: number): void {
  if (tables.count('records', name) < maxEntries) return;
  const swept = tables
    .sql('DELETE FROM records WHERE name = ? AND expires IS NOT NULL AND expires <= ?')
    .run(name, now);
  tables.counted('records', name, -Number(swept.changes));
  if (tables.count('records', name) < maxEntries) return;
  throw new StoreError('full', `there is no room for another record of ${name}`);
}

/** What has expired needs no place. */
function sweep(tables: Tables, now: number): void {
  tables.sql('DELETE FROM records WHERE expires IS NOT NULL AND expires <= ?').run(now);
  tables.sql('DELETE FROM counter WHERE ends IS NOT NULL AND ends <= ?').run(now);
  tables.forgetCounts();
}

function remove(tables: Tables, name: string, key: string): void {
  const removed = tables
    .sql('DELETE FROM records WHERE name = ? AND key = ?')
    .run(name, JSON.stringify(key));
  tables.counted('records', name, -Number(removed.changes));
}

/** Rows that are damaged are left out, and reported. */
function entries(
  tables: Tables,
  name: string,
  prefix: string,
  now: number,
): readonly RecordEntry[] {
  return [...tables.select('records', 'WHERE name = ?').iterate(name)]
    .filter((row) => tables.isGood('records', row) && isLive(row, now))
    .map(entryIn)
    .filter(({ key }) => key.startsWith(prefix))
    .sort((one, other) => (one.key < other.key ? -1 : 1));
}
