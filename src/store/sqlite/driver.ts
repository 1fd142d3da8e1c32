// The SQLite that can be loaded here: the module of Node itself from 22.13 on, the package libsql on
// older ones. Both are used through the few words below. Loaded in the worker thread only, because
// every operation is synchronous.

import { createRequire } from 'node:module';

export type SqlValue = string | number | null | Uint8Array;
export type Row = Readonly<Record<string, unknown>>;

export interface Statement {
  run(...values: readonly SqlValue[]): { readonly changes: number | bigint };
  get(...values: readonly SqlValue[]): Row | undefined;
  all(...values: readonly SqlValue[]): readonly Row[];
  /** One after the other, for tables that need not fit into memory. */
  iterate(...values: readonly SqlValue[]): Iterable<Row>;
}

export interface Database {
  exec(sql: string): unknown;
  prepare(sql: string): Statement;
  close(): void;
}

type DatabaseClass = new (file: string) => Database;

export interface Driver {
  readonly name: 'node:sqlite' | 'libsql';
  readonly open: (file: string) => Database;
}

/** libsql keeps a closed file open until its statements are collected, so that its lock is given up before. */
export function closeDatabase(database: Database): void {
  try {
    database.exec('PRAGMA locking_mode = NORMAL');
    // It takes effect with the next use.
    database.exec('SELECT 1 FROM sqlite_schema');
  } catch {
    // A file that is damaged, or not a database at all.
  }
  database.close();
}

const require = createRequire(import.meta.url);

/** Undefined if none can be loaded. */
export function loadDriver(load: (name: string) => unknown = require): Driver | undefined {
  const own = loaded<{ readonly DatabaseSync?: DatabaseClass }>(load, 'node:sqlite')?.DatabaseSync;
  if (own) return { name: 'node:sqlite', open: (file) => new own(file) };
  const libsql = loaded<DatabaseClass>(load, 'libsql');
  if (libsql) return { name: 'libsql', open: (file) => new libsql(file) };
  return undefined;
}

/** What cannot be loaded is not there, whatever the reason. */
function loaded<T>(load: (name: string) => unknown, name: string): T | undefined {
  try {
    return load(name) as T;
  } catch {
    return undefined;
  }
}
