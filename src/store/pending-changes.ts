// Changes that are not on the disk yet. Those of one collection are written one after the other, so the last one wins;
// collections do not wait for each other: what decides who has access is read while a slow disk takes other records.
// A forgetful change is visible to readers at once and never fails its caller: what the disk
// refuses is kept in memory, reported once, and tried again soon (`retry.ts`), also when the store
// is closed. A durable change is written in its turn or refused; until a refused one has been
// written after all, the store is not healthy. Once the next process of an instance has taken over, forgetful changes of
// this one are dropped: they would replace what that one has written.

import { type Clock, within } from '../kernel/clock.ts';
import { ignored } from '../kernel/contain.ts';
import type { Disk } from './disk.ts';
import { Lanes } from './lanes.ts';
import type { Complaints } from './problem.ts';
import type { StoredRecord } from './record.ts';
import { collectionOf, type RecordFiles } from './record-files.ts';
import { Retry } from './retry.ts';
import { StoreError, storeClosed } from './store-error.ts';

/** A forgetful change that is not on the disk yet; without a record it is a removal. */
export interface Change {
  readonly record: StoredRecord | null;
  hasFailed: boolean;
}

export interface PendingParts {
  readonly disk: Disk;
  readonly files: RecordFiles;
  readonly complaints: Complaints;
  readonly clock: Clock;
  /** How much may wait in memory while the disk fails; the oldest is dropped first. */
  readonly maxUnsavedBytes: number;
}

/**
 * With more refused records than this, the ones refused first no longer count for the health of the
 * store.
 */
const maxRefused = 1_000;
/** How long the end waits for the disk. */
const endMs = 10_000;

export class PendingChanges {
  readonly #parts: PendingParts;
  /** By file, until written; at most `maxUnsavedBytes` while the disk fails. */
  readonly #unsaved = new Map<string, Change>();
  /** Files of durable changes that were refused, until one is written; at most `maxRefused`. */
  readonly #refused = new Set<string>();
  readonly #retry: Retry;
  readonly #lanes = new Lanes();
  #problem: string | null = null;
  #isClosed = false;
  #isHandedOver = false;

  constructor(parts: PendingParts) {
    this.#parts = parts;
    this.#retry = new Retry(parts.clock, () => this.#tryAgain());
  }

  /** What the disk refuses, in one line; null while all is well. */
  get problem(): string | null {
    return this.#problem;
  }

  assertOpen(): void {
    if (this.#isClosed) throw storeClosed();
  }

  /** The newest forgetful change of the file that is not on the disk yet. */
  unsaved(file: string): Change | undefined {
    return this.#unsaved.get(file);
  }

  allUnsaved(): readonly (readonly [string, Change])[] {
    return [...this.#unsaved];
  }

  /** Visible to readers at once; resolves when it is on the disk, or known to have failed. */
  async change(file: string, record: StoredRecord | null): Promise<void> {
    if (this.#isHandedOver) return;
    const change = this.#note(file, record);
    await this.inTurn(collectionOf(file), () => this.#save(file, change));
  }

  /** The same, for a caller that has the turn already. */
  async changeNow(file: string, record: StoredRecord | null): Promise<void> {
    if (this.#isHandedOver) return;
    await this.#save(file, this.#note(file, record));
  }

  /**
   * Resolves when it is on the disk, and throws a `StoreError` otherwise. The caller must have the
   * turn.
   */
  async keepNow(file: string, record: StoredRecord | null): Promise<void> {
    const { files, complaints, disk } = this.#parts;
    if (record !== null && files.isTooLarge(file, record)) {
      throw new StoreError(
        'too_large',
        `${disk.pathOf(file)} would be larger than a record may be`,
      );
    }
    try {
      await files.write(file, record);
    } catch (error) {
      const { detail } = complaints.failure('refused', disk.pathOf(file), error);
      this.#problem = detail;
      this.#refused.add(file);
      const [first] = this.#refused;
      if (this.#refused.size > maxRefused && first !== undefined) this.#refused.delete(first);
      throw new StoreError('not_kept', detail, error);
    }
    this.#refused.delete(file);
    if (this.#problem !== null) this.#recover();
  }

  /** What could not be read is read again soon. */
  tryReadingAgain(): void {
    this.#retry.refused();
  }

  /** Those of one collection one after the other; a task that throws does not hold up the next. */
  inTurn<T>(collection: string, task: () => Promise<T>): Promise<T> {
    return this.#lanes.run(collection, task);
  }

  /** Nobody waits for these; disk errors have been reported by then. */
  inTurnAlone(collection: string, task: () => Promise<void>): void {
    this.inTurn(collection, task).catch(ignored);
  }

  /** What is under way is written; what a failing disk has not taken by then is dropped, and so is what comes later. */
  async handOver(): Promise<void> {
    this.#isHandedOver = true;
    await within(this.#parts.clock, endMs, this.#lanes.idle());
    this.#unsaved.clear();
    this.#retry[Symbol.dispose]();
  }

  /** Accepts no more changes, and writes what is left, within a time: a disk that hangs must not keep the process. */
  async end(): Promise<void> {
    this.#isClosed = true;
    let isWritten = false;
    const writing = this.#lanes
      .idle()
      .then(() => this.#saveAgain())
      .then(() => this.#lanes.idle())
      .then(() => {
        isWritten = true;
      });
    await within(this.#parts.clock, endMs, writing);
    this.#retry[Symbol.dispose]();
    if (!isWritten) this.#giveUp();
  }

  #giveUp(): void {
    const { complaints, disk } = this.#parts;
    const path = disk.pathOf('');
    const detail = `${path} was not written within ${endMs / 1_000} s at the end: the last changes may be lost; look whether that disk hangs`;
    complaints.say({ kind: 'dropped', file: path, code: null, detail }, '');
  }

  #note(file: string, record: StoredRecord | null): Change {
    const change = { record, hasFailed: false };
    this.#unsaved.delete(file);
    this.#unsaved.set(file, change);
    return change;
  }

  async #save(file: string, change: Change): Promise<void> {
    const { files, complaints, disk } = this.#parts;
    // It waited for the disk for so long that the next process has taken over.
    if (this.#isHandedOver && !this.#unsaved.has(file)) return;
    try {
      // One of a newer Holdfast stays, for that.
      if (!(await files.isOfNewer(file))) await files.write(file, change.record);
    } catch (error) {
      change.hasFailed = true;
      this.#problem = complaints.failure('unwritable', disk.pathOf(file), error).detail;
      this.#dropExcess();
      this.#retry.refused();
      return;
    }
    if (this.#unsaved.get(file) === change) this.#unsaved.delete(file);
    if (this.#problem !== null) this.#recover();
  }

  /** The disk accepts writes again: pending changes follow, and then all is well. */
  #recover(): void {
    const { files, complaints, disk } = this.#parts;
    this.#saveAgain();
    if (this.#unsaved.size > 0 || this.#refused.size > 0) return;
    this.#problem = null;
    if (files.problem === null) this.#retry.succeeded();
    complaints.recovered(disk.pathOf(''), 'can be written again; what was kept in memory is saved');
  }

  #tryAgain(): void {
    this.#saveAgain();
    this.inTurnAlone('', async () => {
      const isRead = await this.#parts.files.tryAgain(() => !this.#isClosed);
      if (!isRead) this.#retry.refused();
      else if (this.#problem === null) this.#retry.succeeded();
    });
  }

  #saveAgain(): void {
    for (const [file, change] of this.#unsaved) {
      if (!change.hasFailed) continue;
      change.hasFailed = false;
      this.inTurnAlone(collectionOf(file), () => this.#save(file, change));
    }
  }

  /** A dropped change is lost: a reader then finds the older value on the disk. */
  #dropExcess(): void {
    const { maxUnsavedBytes, complaints, disk } = this.#parts;
    const failed = [...this.#unsaved].filter(([, { hasFailed }]) => hasFailed);
    let bytes = failed.reduce((sum, [, change]) => sum + sizeOf(change), 0);
    for (const [file, change] of failed) {
      if (bytes <= maxUnsavedBytes) return;
      bytes -= sizeOf(change);
      this.#unsaved.delete(file);
      const path = disk.pathOf(file);
      const detail = `too many changes wait to be written to ${path}: the oldest changes are lost; free that disk`;
      complaints.say({ kind: 'dropped', file: path, code: null, detail }, '');
    }
  }
}

function sizeOf({ record }: Change): number {
  return record === null ? 0 : 2 * record.text.length;
}
