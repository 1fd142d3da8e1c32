// The database of an instance, used synchronously: runs operations in transactions. Operations that come
// together are committed together, and are answered after the commit. If that fails, each is tried by
// itself, so that one that cannot be stored does not refuse the others. A file that was removed or replaced
// while it is open would take every change and keep none: then changes are refused. Every commit that
// changes something has a number, which is written down before the commit is answered. SQLite merges its log into the
// file as part of a commit now and then; a large commit is answered before that is done.

import { StoreError } from '../store-error.ts';
import type { Acknowledged } from './acknowledged.ts';
import { commitNumbers } from './commit-number.ts';
import { counterResult } from './counter-table.ts';
import { closeDatabase, type Database } from './driver.ts';
import { logResult } from './log-table.ts';
import { type Damage, isReading, type StoreOperation, type StoreOutcome } from './operation.ts';
import { queueResult } from './queue-table.ts';
import { recordsResult } from './records-table.ts';
import { messageOf, sqliteCodeOf } from './sqlite-code.ts';
import { Tables } from './tables.ts';

/** As SQLite has it without being told. */
const usualMergePages = 1_000;
/** Merging so much takes as long as the commit itself. */
const largeBytes = 1_048_576;

export interface Checked {
  /** The rows that are damaged. */
  readonly damaged: readonly Damage[];
  /** The number of the last commit in the database. */
  readonly commits: number;
  /** The number of the last commit that was acknowledged, as far as it is known. */
  readonly expected: number;
}

export class Engine {
  readonly #database: Database;
  readonly #tables: Tables;
  readonly #assertInPlace: () => void;
  readonly #acknowledged: Acknowledged;
  #commits = 0;
  /** The log is merged after the next answer. */
  #isMergeDue = false;

  /** `assertInPlace` throws if the file is not the one at its path any more. */
  constructor(database: Database, acknowledged: Acknowledged, assertInPlace: () => void) {
    this.#database = database;
    this.#acknowledged = acknowledged;
    this.#assertInPlace = assertInPlace;
    this.#tables = new Tables(database);
  }

  /** Reads everything once. */
  check(): Checked {
    this.#tables.checkAll();
    const damaged = this.#tables.takeDamaged();
    const commits = this.#tables.lastIfGood(commitNumbers);
    const expected = this.#acknowledged.last();
    this.#commits = Math.max(commits, expected);
    return { damaged, commits, expected };
  }

  /** What is missing is known to be: it is not expected at the next start. */
  acknowledgeLoss(commits: number): void {
    this.#acknowledged.lower(commits);
  }

  /**
   * After a loss: merges what is left of the log into the file. The number of the next change does not follow
   * the last one in the log, because those between are lost: after a power cut in that change this would look
   * like damage once more. `force` forces the log to the disk.
   */
  beginLogAnew(force: () => void): void {
    try {
      this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      force();
    } catch {
      // A disk that refuses: nothing is lost by a log that stays.
    }
  }

  /** The outcomes, in the order of the operations. */
  apply(operations: readonly StoreOperation[]): readonly StoreOutcome[] {
    if (operations.every(isReading)) return operations.map((one) => this.#outcome(one));
    try {
      return this.#transaction(operations);
    } catch (error) {
      if (operations.length === 1) return [refused(error)];
      return operations.flatMap((one) => this.apply([one]));
    }
  }

  /** After each answer: what need not be waited for. */
  tidy(): void {
    if (!this.#isMergeDue) return;
    this.#isMergeDue = false;
    try {
      this.#database.exec(`PRAGMA wal_autocheckpoint = ${usualMergePages}`);
      this.#database.exec('PRAGMA wal_checkpoint(PASSIVE)');
    } catch {
      // A disk that refuses: the next commits say so, and the log stays as it is.
    }
  }

  /** The log is merged into the file, and the file is released at once. */
  close(): void {
    try {
      this.#database.exec('PRAGMA journal_mode = DELETE');
    } catch {
      // A disk that refuses: the log stays as it is, and is read at the next start.
    }
    closeDatabase(this.#database);
    this.#acknowledged.close();
  }

  #transaction(operations: readonly StoreOperation[]): readonly StoreOutcome[] {
    this.#database.exec('BEGIN IMMEDIATE');
    let commit: number | undefined;
    let outcomes: readonly StoreOutcome[];
    try {
      const before = this.#tables.changes();
      outcomes = operations.map((one) => this.#step(one));
      // What finds nothing to change is not written to the disk, and says nothing about it.
      if (this.#tables.changes() !== before) {
        commit = this.#commits + 1;
        this.#tables.save('numbers', commitNumbers, commit);
      }
      this.#assertInPlace();
      if (operations.some(isLarge)) this.#mergeLater();
      this.#database.exec('COMMIT');
    } catch (error) {
      this.#tables.forgetCounts();
      this.#rollBack();
      throw error;
    }
    if (commit === undefined) return outcomes;
    this.#commits = commit;
    this.#acknowledged.write(commit);
    return outcomes.map((outcome) => (outcome.ok ? { ...outcome, isStored: true } : outcome));
  }

  #mergeLater(): void {
    this.#isMergeDue = true;
    this.#database.exec('PRAGMA wal_autocheckpoint = 0');
  }

  /** After some errors SQLite has rolled back by itself. */
  #rollBack(): void {
    try {
      this.#database.exec('ROLLBACK');
    } catch {
      // There is no transaction any more.
    }
  }

  /** One operation of a transaction: what it refuses undoes only itself. */
  #step(operation: StoreOperation): StoreOutcome {
    if (isReading(operation)) return this.#outcome(operation);
    this.#database.exec('SAVEPOINT step');
    const outcome = this.#outcome(operation);
    if (!outcome.ok) {
      this.#tables.forgetCounts();
      this.#database.exec('ROLLBACK TO step');
    }
    this.#database.exec('RELEASE step');
    return outcome;
  }

  /** Throws what SQLite has refused, unless nothing was to be changed. */
  #outcome(operation: StoreOperation): StoreOutcome {
    try {
      const value = this.#result(operation);
      return { ok: true, value, ...this.#damaged() };
    } catch (error) {
      if (error instanceof StoreError) {
        return { ok: false, reason: error.reason, detail: error.message, ...this.#damaged() };
      }
      if (!isReading(operation)) throw error;
      return { ...refused(error), reason: 'unreadable' };
    }
  }

  #damaged(): Pick<StoreOutcome, 'damaged'> {
    const damaged = this.#tables.takeDamaged();
    return damaged.length === 0 ? {} : { damaged };
  }

  #result(operation: StoreOperation): unknown {
    switch (operation.word) {
      case 'records':
        return recordsResult(this.#tables, operation);
      case 'log':
        return logResult(this.#tables, operation);
      case 'queue':
        return queueResult(this.#tables, operation);
      case 'counter':
        return counterResult(this.#tables, operation);
    }
  }
}

function isLarge(operation: StoreOperation): boolean {
  return 'text' in operation && operation.text.length >= largeBytes;
}

function refused(error: unknown): Extract<StoreOutcome, { readonly ok: false }> {
  const code = sqliteCodeOf(error);
  const detail = messageOf(error);
  return { ok: false, reason: 'not_kept', detail, ...(code === null ? {} : { code }) };
}
