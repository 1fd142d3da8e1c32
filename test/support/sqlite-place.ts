// The SQLite store as a subject of the store suite, and its files for tests of damage. A store that was not
// closed is left as a crash leaves it: its files are copied, as they are at that moment, to another folder.

import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StoreProblem } from '../../src/store/problem.ts';
import type { Backend } from '../../src/store/sqlite/backend.ts';
import { type Database, type Driver, loadDriver } from '../../src/store/sqlite/driver.ts';
import { openDatabase } from '../../src/store/sqlite/open-database.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import type { ManualClock } from './manual-clock.ts';
import type { StorePlace, StoreSubject } from './store-suite/subject.ts';

const root = mkdtempSync(join(tmpdir(), 'holdfast-sqlite-'));
process.on('exit', () => rmSync(root, { recursive: true, force: true }));
let folders = 0;

export function newFolder(): string {
  folders += 1;
  const folder = join(root, String(folders));
  mkdirSync(folder);
  return folder;
}

/** The files of a database, as they are now, in a folder of their own. */
export function crashImage(file: string): string {
  const copy = join(newFolder(), 'state.db');
  for (const end of ['', '-wal', '-acknowledged', '-lost', '.damaged', '-wal.damaged']) {
    if (existsSync(`${file}${end}`)) copyFileSync(`${file}${end}`, `${copy}${end}`);
  }
  return copy;
}

export function driver(): Driver {
  const found = loadDriver();
  if (found === undefined) throw new Error('no SQLite can be loaded here');
  return found;
}

export interface OpenedHere {
  readonly store: SqliteStore;
  readonly problems: readonly StoreProblem[];
}

/** In this thread. */
export function openHere(file: string, clock: ManualClock, used: Driver = driver()): OpenedHere {
  const problems: StoreProblem[] = [];
  const { engine, findings } = openDatabase(used, file);
  const report = (problem: StoreProblem) => void problems.push(problem);
  const backend: Backend = {
    apply: async (operations) => engine.apply(operations),
    close: async () => engine.close(),
  };
  return { store: new SqliteStore({ backend, file, clock, report, findings }), problems };
}

/** A database whose commits fail as on a full disk, as long as that is wanted. */
export function refusing(isRefusing: () => boolean): Driver {
  const real = driver();
  return { name: real.name, open: (file) => new Refusing(real.open(file), isRefusing) };
}

class Refusing implements Database {
  readonly #real: Database;
  readonly #isRefusing: () => boolean;

  constructor(real: Database, isRefusing: () => boolean) {
    this.#real = real;
    this.#isRefusing = isRefusing;
  }
  exec(sql: string): unknown {
    if (sql !== 'COMMIT' || !this.#isRefusing()) return this.#real.exec(sql);
    throw Object.assign(new Error('database or disk is full'), { errcode: 13 });
  }
  prepare(sql: string) {
    return this.#real.prepare(sql);
  }
  close(): void {
    this.#real.close();
  }
}

type Open = (file: string, clock: ManualClock) => Store | Promise<Store>;

function placeWith(open: Open, refuse?: StorePlace['refuse']): StorePlace {
  let file: string | undefined;
  return {
    open: (clock) => {
      file = file === undefined ? join(newFolder(), 'state.db') : crashImage(file);
      return open(file, clock);
    },
    ...(refuse ? { refuse } : {}),
  };
}

const all = ['durable', 'process', 'forgetful'] as const;

export function sqliteSubject(place: () => StorePlace): StoreSubject {
  return {
    offers: { records: all, logs: all, queues: ['durable', 'process'], counters: all },
    boundsRecords: true,
    outlivesClosing: true,
    forgetsInMemory: true,
    place,
  };
}

export const sqliteHere: StoreSubject = sqliteSubject(() => {
  let isRefusing = false;
  const used = refusing(() => isRefusing);
  return placeWith(
    (file, clock) => openHere(file, clock, used).store,
    (isWanted) => {
      isRefusing = isWanted;
    },
  );
});

/** `open` opens the store with its worker thread. */
export function sqliteInWorker(open: Open): StoreSubject {
  return sqliteSubject(() => placeWith(open));
}
