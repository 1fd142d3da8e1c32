// A log in the database. Its numbers come from a row that is written in the same transaction, so that
// none is used twice, also if the log is empty.

import type { LogEntry, LogRange } from '../contract/log.ts';
import { StoreError } from '../store-error.ts';
import type { Row } from './driver.ts';
import type { LogOperation } from './operation.ts';
import { type Tables, valueIn } from './tables.ts';

type Append = Extract<LogOperation, { readonly action: 'append' }>;

export function logResult(tables: Tables, operation: LogOperation): unknown {
  const { name } = operation;
  switch (operation.action) {
    case 'append':
      return append(tables, operation);
    case 'read':
      return read(tables, name, operation.from, operation.limit);
    case 'trim':
      return trim(tables, name, operation.before);
    case 'range':
      return range(tables, name);
  }
}

function append(tables: Tables, { name, text, maxEntries }: Append): number {
  if (tables.count('log', name) >= maxEntries) {
    throw new StoreError('full', `the log ${name} is full: trim it`);
  }
  const sequence = tables.next(`log ${name}`);
  tables.save('log', name, sequence, text);
  tables.counted('log', name, 1);
  return sequence;
}

/** Entries that are damaged are left out, and reported. A page is empty only at the end. */
function read(tables: Tables, name: string, from: number, limit: number): readonly LogEntry[] {
  const page = tables.select('log', 'WHERE name = ? AND sequence >= ? ORDER BY sequence LIMIT ?');
  for (let start = from; ; ) {
    const rows = [...page.iterate(name, start, limit)];
    const good = rows.filter((row) => tables.isGood('log', row));
    if (good.length > 0 || rows.length === 0) return good.map(entryIn);
    start = Number(rows.at(-1)?.['sequence']) + 1;
  }
}

function entryIn({ sequence, text }: Row): LogEntry {
  return { sequence: Number(sequence), value: valueIn(text) };
}

function trim(tables: Tables, name: string, before: number): void {
  const { changes } = tables
    .sql('DELETE FROM log WHERE name = ? AND sequence < ?')
    .run(name, before);
  tables.counted('log', name, -Number(changes));
}

function range(tables: Tables, name: string): LogRange {
  const next = tables.last(`log ${name}`) + 1;
  const row = tables.sql('SELECT min(sequence) AS first FROM log WHERE name = ?').get(name);
  return { first: Number(row?.['first'] ?? next), next };
}
