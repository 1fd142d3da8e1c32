// Opens the database file of an instance, or says why it cannot be used. A file that is damaged is set
// aside, beside it, and a new one is begun: `setAside` says that something may be missing for as long as the
// file that was set aside is there. A database that has lost changes which were acknowledged is used, and
// says so for as long as the note of it is there. Exactly one process and one connection uses the file; SQLite's own
// lock refuses a second one.

import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { errnoOf } from '../../kernel/errno.ts';
import {
  Acknowledged,
  acknowledgedIn,
  forgetAcknowledged,
  lossNoteOf,
  noteLoss,
} from './acknowledged.ts';
import { closeDatabase, type Database, type Driver } from './driver.ts';
import { type Checked, Engine } from './engine.ts';
import { firstPage } from './first-page.ts';
import { syncFoldersOf } from './folder-sync.ts';
import { OpenError } from './open-error.ts';
import type { Damage } from './operation.ts';
import { asideOf, assertOwnFiles, copyAside, forceIfThere, isThere } from './own-files.ts';
import { messageOf, sqliteCodeOf } from './sqlite-code.ts';
import { applicationId, schema, schemaVersion, statements } from './tables.ts';
import { walState } from './wal-check.ts';

export interface OpenedEngine {
  readonly engine: Engine;
  readonly findings: Findings;
}

export interface Findings {
  /** Rows that are damaged. */
  readonly damaged: readonly Damage[];
  /** The files that were damaged and are set aside, now or at an earlier start. */
  readonly setAside: readonly string[];
  /** The file that says that acknowledged changes are missing; null: none are. */
  readonly lossNote: string | null;
  /** The last change before the process ended was not completely written. */
  readonly isTorn: boolean;
}

/** SQLite or our own check says that the file is not as it was written. */
class Damaged extends Error {}

/** Throws an error once another file, or none, is at the path of this one. */
function inPlace(file: string): () => void {
  const { dev, ino } = statSync(file);
  return () => {
    const found = statSync(file, { throwIfNoEntry: false });
    if (found?.dev === dev && found.ino === ino) return;
    throw new Error(`${file} was removed or replaced while it was in use; start Holdfast again`);
  };
}

/** Throws an OpenError. `lockMs`: how long the lock of another process is waited for, which stops this thread. */
export function openDatabase(driver: Driver, file: string, lockMs = 0): OpenedEngine {
  assertOwnFiles(file);
  const wal = `${file}-wal`;
  let log = bytesOf(wal);
  if (!existsSync(file)) {
    // SQLite would remove a log without its database.
    if (log.length > 0) setLogAside(file);
    log = Buffer.alloc(0);
    // Somebody has moved it away, as is advised where it cannot be used.
    forgetAcknowledged(file);
  }
  const state = walState(log);
  if (state === 'damaged') copyAside(wal);
  const page = firstPage(bytesOf(file), log, { applicationId, schemaVersion, statements });
  if (page === 'foreign') throw foreign();
  if (page === 'newer')
    throw new OpenError('newer', 'it was written by a newer version of Holdfast');
  if (page === 'damaged') setAside(file);
  if (page === 'unwritten') beginAnew(file);
  const { engine, checked } = opened(driver, file, lockMs);
  const aside = [file, wal].map(asideOf).filter(isThere);
  const note = lossOf(file, engine, checked);
  // Without a commit in it, nothing was acknowledged yet.
  syncFolders(file, engine, checked.commits === 0);
  // Only when what says so is on the disk.
  const isLost = checked.commits < checked.expected;
  if (state === 'damaged' || isLost) engine.beginLogAnew(() => forceIfThere(wal));
  if (isLost) engine.acknowledgeLoss(checked.commits);
  const isTorn = state === 'torn';
  return {
    engine,
    findings: { damaged: checked.damaged, setAside: aside, lossNote: note, isTorn },
  };
}

/** Notes what is missing now; the note, also if it was made at an earlier start. */
function lossOf(file: string, engine: Engine, { commits, expected }: Checked): string | null {
  if (commits < expected) {
    try {
      noteLoss(file, expected, commits);
    } catch (error) {
      // Later commits would hide it.
      engine.close();
      const why = `acknowledged changes are missing, and that cannot be noted: ${messageOf(error)}`;
      throw new OpenError('unusable', why, errnoOf(error) ?? null);
    }
  }
  return isThere(lossNoteOf(file)) ? lossNoteOf(file) : null;
}

function syncFolders(file: string, engine: Engine, isFirst: boolean): void {
  try {
    syncFoldersOf(file, isFirst);
  } catch (error) {
    engine.close();
    throw new OpenError('unusable', messageOf(error), errnoOf(error) ?? null);
  }
}

/** None if there is no such file. */
function bytesOf(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const code = errnoOf(error) ?? null;
    if (code === 'ENOENT') return Buffer.alloc(0);
    throw new OpenError('unusable', messageOf(error), code);
  }
}

interface CheckedEngine {
  readonly engine: Engine;
  readonly checked: Checked;
}

function opened(driver: Driver, file: string, lockMs: number): CheckedEngine {
  try {
    return checked(connect(driver, file, lockMs), file);
  } catch (error) {
    if (!(error instanceof Damaged)) throw error;
    setAside(file);
    return checked(connect(driver, file, lockMs), file);
  }
}

/** Nothing was stored in it, unless something was acknowledged. */
function beginAnew(file: string): void {
  if (acknowledgedIn(file) > 0) return setAside(file);
  try {
    // SQLite removes the journal of an empty file by itself.
    truncateSync(file, 0);
  } catch (error) {
    throw new OpenError('unusable', messageOf(error), errnoOf(error) ?? null);
  }
}

function setAside(file: string): void {
  try {
    renameSync(file, asideOf(file));
    rmSync(`${file}-shm`, { force: true });
    forgetAcknowledged(file);
  } catch (error) {
    throw new OpenError('unusable', messageOf(error), errnoOf(error) ?? null);
  }
  setLogAside(file);
}

/** Log and journal belong to that file alone: a journal would be played back into the new one. */
function setLogAside(file: string): void {
  try {
    for (const log of [`${file}-wal`, `${file}-journal`]) {
      if (existsSync(log)) renameSync(log, asideOf(log));
    }
  } catch (error) {
    throw new OpenError('unusable', messageOf(error), errnoOf(error) ?? null);
  }
}

const careful = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
const appending = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | careful;

function connect(driver: Driver, file: string, lockMs: number): Database {
  let database: Database | undefined;
  try {
    // SQLite would make it for everybody, and its companions have the same mode.
    closeSync(openSync(file, appending, 0o600));
    database = driver.open(file);
    database.exec(`PRAGMA busy_timeout = ${lockMs}`);
    // Without another process there is no need for shared memory, and no other can open it by mistake.
    database.exec('PRAGMA locking_mode = EXCLUSIVE');
    database.exec('PRAGMA trusted_schema = OFF');
    // Before anything is written.
    const isNew = isEmpty(database);
    database.exec('PRAGMA journal_mode = WAL');
    database.exec('PRAGMA synchronous = FULL');
    database.exec('PRAGMA cache_size = -16000');
    if (isNew) database.exec(`BEGIN EXCLUSIVE; ${schema} COMMIT;`);
    // An earlier version could not read what this one stores.
    else if (versionOf(database) < schemaVersion)
      database.exec(`PRAGMA user_version = ${schemaVersion}`);
    return database;
  } catch (error) {
    if (database !== undefined) closeDatabase(database);
    throw whyUnusable(error);
  }
}

function checked(database: Database, file: string): CheckedEngine {
  const engine = new Engine(database, new Acknowledged(file), inPlace(file));
  try {
    return { engine, checked: engine.check() };
  } catch (error) {
    engine.close();
    throw whyUnusable(error);
  }
}

function whyUnusable(error: unknown): unknown {
  if (error instanceof OpenError || error instanceof Damaged) return error;
  const code = sqliteCodeOf(error) ?? errnoOf(error) ?? null;
  if (code === 'SQLITE_CORRUPT' || code === 'SQLITE_NOTADB') return new Damaged(messageOf(error));
  return new OpenError('unusable', messageOf(error), code);
}

/** Whether nothing was ever stored in it. Throws if it is damaged, or of another program. */
function isEmpty(database: Database): boolean {
  const id = Number(database.prepare('PRAGMA application_id').get()?.['application_id']);
  if (id === 0) {
    const tables = database.prepare('SELECT count(*) AS tables FROM sqlite_schema').get();
    if (Number(tables?.['tables']) > 0) throw foreign();
    return true;
  }
  const [check] = database.prepare('PRAGMA integrity_check(1)').all();
  const said = String(check?.['integrity_check']);
  if (said !== 'ok') throw new Damaged(said);
  return false;
}

function versionOf(database: Database): number {
  return Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
}

function foreign(): OpenError {
  return new OpenError('foreign', 'it belongs to another program');
}
