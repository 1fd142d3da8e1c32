// The tables of state.db, and what they have in common: rows with a checksum, numbers that only grow,
// and how many rows there are of each name. A name is that of records, a log, a queue or a counter.

import { ownValue } from '../../kernel/own-value.ts';
import { asBuffer, isBytes } from '../contract/bytes.ts';
import { StoreError } from '../store-error.ts';
import type { Database, Row, SqlValue, Statement } from './driver.ts';
import type { Damage } from './operation.ts';
import { digestOf } from './row-digest.ts';

/** Stored in the file; a file of a newer version is not opened. Since 2 a value may be bytes. */
export const schemaVersion = 2;
/** Stored in the file: it is ours. */
export const applicationId = 0x48_6c_64_66;

/** Keys are stored as JSON texts: SQLite ends a text at a zero, and has no half of a pair of characters. */
export const statements: readonly string[] = [
  `CREATE TABLE records (
  name TEXT NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL, version INTEGER NOT NULL,
  expires REAL, digest TEXT NOT NULL, PRIMARY KEY (name, key)
) WITHOUT ROWID`,
  'CREATE INDEX records_by_end ON records (name, expires) WHERE expires IS NOT NULL',
  `CREATE TABLE log (
  name TEXT NOT NULL, sequence INTEGER NOT NULL, text TEXT NOT NULL, digest TEXT NOT NULL,
  PRIMARY KEY (name, sequence)
) WITHOUT ROWID`,
  `CREATE TABLE queue (
  name TEXT NOT NULL, id INTEGER NOT NULL, text TEXT NOT NULL, free REAL NOT NULL,
  attempt INTEGER NOT NULL, is_claimed INTEGER NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (name, id)
) WITHOUT ROWID`,
  `CREATE TABLE counter (
  name TEXT NOT NULL, key TEXT NOT NULL, taken INTEGER NOT NULL, ends REAL, digest TEXT NOT NULL,
  PRIMARY KEY (name, key)
) WITHOUT ROWID`,
  `CREATE TABLE numbers (
  name TEXT PRIMARY KEY, last INTEGER NOT NULL, digest TEXT NOT NULL
) WITHOUT ROWID`,
];

export const schema = `
${statements.join(';\n')};
PRAGMA application_id = ${applicationId};
PRAGMA user_version = ${schemaVersion};
`;

/** What the checksum of a row is computed from, in this order. A value is a text or bytes. */
const columns = {
  records: { name: 'text', key: 'text', text: 'value', version: 'integer', expires: 'real' },
  log: { name: 'text', sequence: 'integer', text: 'value' },
  queue: {
    name: 'text',
    id: 'integer',
    text: 'text',
    free: 'real',
    attempt: 'integer',
    is_claimed: 'integer',
  },
  counter: { name: 'text', key: 'text', taken: 'integer', ends: 'real' },
  numbers: { name: 'text', last: 'integer' },
} as const;

export type Table = keyof typeof columns;

/** Node takes bytes without memory for NULL, and none that came from another thread have any. */
const noBytes = Buffer.alloc(1).subarray(1);

/** As many as a table has columns at most. */
type Values = readonly SqlValue[];

export class Tables {
  readonly #database: Database;
  /** By their text, one for each in the source. */
  readonly #statements = new Map<string, Statement>();
  /** By table and name, at most one for each that is written in the source; forgotten when a transaction is undone. */
  readonly #counts = new Map<string, number>();
  /** What was found since it was last taken. */
  #damaged: Damage[] = [];

  constructor(database: Database) {
    this.#database = database;
  }

  sql(text: string): Statement {
    const statement = this.#statements.get(text) ?? this.#database.prepare(text);
    this.#statements.set(text, statement);
    return statement;
  }

  /** Adds the row, or replaces the one with the same key. */
  save(table: Table, ...given: Values): void {
    const values = given.map((value) => (isBytes(value) && value.length === 0 ? noBytes : value));
    const places = [...values, ''].map(() => '?').join(', ');
    this.sql(`INSERT OR REPLACE INTO ${table} VALUES (${places})`).run(...values, digestOf(values));
  }

  /** Reads rows, as far as the condition takes. */
  select(table: Table, where = ''): Selection {
    return new Selection(table, this.sql(`SELECT ${selected[table]} FROM ${table} ${where}`));
  }

  /** The next number of this name. */
  next(name: string): number {
    const next = this.last(name) + 1;
    this.save('numbers', name, next);
    return next;
  }

  last(name: string): number {
    const row = this.select('numbers', 'WHERE name = ?').get(name);
    if (row === undefined) return 0;
    this.check('numbers', row);
    return Number(row['last']);
  }

  /** 0 if it is damaged. */
  lastIfGood(name: string): number {
    const row = this.select('numbers', 'WHERE name = ?').get(name);
    return row !== undefined && this.isGood('numbers', row) ? Number(row['last']) : 0;
  }

  /** A number that grows with every row that is changed. */
  changes(): number {
    return Number(this.sql('SELECT total_changes() AS changes').get()?.['changes']);
  }

  count(table: Table, name: string): number {
    const place = `${table} ${name}`;
    const known = this.#counts.get(place);
    if (known !== undefined) return known;
    const row = this.sql(`SELECT count(*) AS rows FROM ${table} WHERE name = ?`).get(name);
    const count = Number(row?.['rows']);
    this.#counts.set(place, count);
    return count;
  }

  /** So many rows more, or fewer, after `count`. */
  counted(table: Table, name: string, more: number): void {
    const place = `${table} ${name}`;
    const known = this.#counts.get(place);
    if (known !== undefined) this.#counts.set(place, known + more);
  }

  /** A transaction was undone: what was counted in it is not true. */
  forgetCounts(): void {
    this.#counts.clear();
  }

  /** Throws if the row is not as it was written. */
  check(table: Table, row: Row): void {
    if (!this.isGood(table, row)) {
      const { name, key } = damageIn(table, row);
      throw new StoreError('unreadable', `${key} of ${name} is damaged in the database`);
    }
  }

  /** The same as an answer; what is damaged is noted. */
  isGood(table: Table, row: Row): boolean {
    const values = Object.keys(columns[table]).map((column) => ownValue(row, column) as SqlValue);
    if (digestOf(values) === row['digest']) return true;
    this.#damaged.push(damageIn(table, row));
    return false;
  }

  /** Reads every row once, so that what is damaged is known before anything counts as absent. */
  checkAll(): void {
    for (const table of Object.keys(columns) as Table[]) {
      for (const row of this.select(table).iterate()) this.isGood(table, row);
    }
  }

  takeDamaged(): readonly Damage[] {
    const damaged = this.#damaged;
    this.#damaged = [];
    return damaged;
  }
}

/**
 * A damaged row may have anything in any column. Texts are read as bytes, because libsql ends the process on
 * one that is not UTF-8; numbers are read as numbers.
 */
const selected = Object.fromEntries(
  Object.entries(columns).map(([table, types]) => {
    const casts = Object.entries({ ...types, digest: 'text' }).map(([column, type]) => {
      if (type === 'value')
        return `typeof(${column}) AS kind, CAST(${column} AS BLOB) AS ${column}`;
      return `CAST(${column} AS ${type === 'text' ? 'BLOB' : type}) AS ${column}`;
    });
    return [table, casts.join(', ')];
  }),
) as Readonly<Record<Table, string>>;

class Selection {
  readonly #table: Table;
  readonly #statement: Statement;

  constructor(table: Table, statement: Statement) {
    this.#table = table;
    this.#statement = statement;
  }

  get(...values: Values): Row | undefined {
    const row = this.#statement.get(...values);
    return row && this.#decoded(row);
  }

  /** To be read to its end: libsql keeps a statement open otherwise. */
  *iterate(...values: Values): Iterable<Row> {
    for (const row of this.#statement.iterate(...values)) yield this.#decoded(row);
  }

  #decoded(row: Row): Row {
    const types = Object.entries({ ...columns[this.#table], digest: 'text' });
    return Object.fromEntries(
      types.map(([column, type]) => {
        const value = ownValue(row, column);
        if (type === 'value' && row['kind'] === 'blob') return [column, bytesIn(value)];
        return [column, type === 'text' || type === 'value' ? textIn(value) : value];
      }),
    );
  }
}

/** Text that is not UTF-8 becomes something else, which its checksum notices. */
function textIn(value: unknown): string {
  return bytesIn(value).toString('utf8');
}

function bytesIn(value: unknown): Buffer {
  // libsql gives the one for single rows, and the other for many.
  if (isBytes(value)) return asBuffer(value);
  return value instanceof ArrayBuffer ? Buffer.from(value) : Buffer.alloc(0);
}

/** The value in a good row. */
export function valueIn(text: unknown): unknown {
  return isBytes(text) ? text : JSON.parse(String(text));
}

function damageIn(table: Table, row: Row): Damage {
  const key = row['key'] ?? row['sequence'] ?? row['id'] ?? row['name'];
  return { table, name: String(row['name']), key: String(key) };
}
