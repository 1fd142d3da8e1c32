// The store on files, one for each record. A disk that fails never fails a caller: what cannot be written
// is kept in memory, reported once, shown by `health`, and tried again soon (`retry.ts`); what cannot be
// read counts as absent until it can. Changes go to the disk one after the other, so the last put wins. Several processes may
// share the folder: each reads what the others have written, and the last writer wins; only in the very
// instant in which a record expires may a sweep of one process meet a renewal by another.

import type { Clock } from '../kernel/clock.ts';
import { ignored } from '../kernel/contain.ts';
import { type Disk, nodeDisk } from './disk.ts';
import { Housekeeping } from './housekeeping.ts';
import { Complaints, type StoreProblem } from './problem.ts';
import type { StoredRecord } from './record.ts';
import { fileOf, RecordFiles, type RecordListing } from './record-files.ts';
import { Retry } from './retry.ts';
import {
  assertCollectionName,
  type Collection,
  type Entry,
  jsonText,
  type PutOptions,
  type Shape,
  type Store,
  type StoreHealth,
} from './store.ts';

export interface FilesStoreOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly report: (problem: StoreProblem) => void;
  /** How much may wait in memory while the disk fails; the oldest is dropped first. */
  readonly maxUnsavedBytes?: number;
}

/** Opens the store in a folder of its own. Nothing is written before it is needed. */
export function openFilesStore(
  folder: string,
  options: Omit<FilesStoreOptions, 'disk'>,
): FilesStore {
  return new FilesStore({ ...options, disk: nodeDisk(folder) });
}

/** A change that is not on the disk yet; without a record it is a removal. */
interface Change {
  readonly record: StoredRecord | null;
  hasFailed: boolean;
}

interface Found {
  readonly record: StoredRecord;
  readonly value: unknown;
}

const sweepEveryMs = 600_000;

export class FilesStore implements Store {
  readonly #disk: Disk;
  readonly #clock: Clock;
  readonly #complaints: Complaints;
  readonly #files: RecordFiles;
  readonly #housekeeping: Housekeeping;
  readonly #maxUnsavedBytes: number;
  /** By file, until written; at most `maxUnsavedBytes` while the disk fails. */
  readonly #unsaved = new Map<string, Change>();
  readonly #retry: Retry;
  /** At most one for each collection. */
  readonly #tidied = new Set<string>();
  #lane: Promise<void> = Promise.resolve();
  #problem: string | null = null;
  #timer: Disposable;
  #closing: Promise<void> | undefined;

  constructor({ disk, clock, report, maxUnsavedBytes = 16_777_216 }: FilesStoreOptions) {
    this.#disk = disk;
    this.#clock = clock;
    this.#complaints = new Complaints(report);
    this.#files = new RecordFiles(disk, this.#complaints);
    const parts = { disk, files: this.#files, clock, complaints: this.#complaints };
    this.#housekeeping = new Housekeeping(parts);
    this.#maxUnsavedBytes = maxUnsavedBytes;
    this.#retry = new Retry(clock, () => this.#tryAgain());
    this.#timer = this.#scheduleSweep();
  }

  collection(name: string, shape?: Shape): Collection {
    assertCollectionName(name);
    if (shape) this.#files.expect(name, shape);
    this.#tidyOnce(name);
    return {
      get: (key) => this.#get(fileOf(name, key)),
      put: (key, value, options) => this.#put(name, key, value, options),
      remove: (key) => this.#change(fileOf(name, key), null),
      entries: (prefix = '') => this.#entries(name, prefix),
      isWhole: () => this.#isWhole(name),
    };
  }

  health(): StoreHealth {
    const problem = this.#problem ?? this.#files.problem;
    return problem === null ? { ok: true } : { ok: false, problem };
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #get(file: string): Promise<unknown> {
    this.#assertOpen();
    const waiting = this.#unsaved.get(file);
    const found = waiting === undefined ? await this.#read(file) : foundIn(waiting);
    return found !== null && this.#housekeeping.isAlive(found.record) ? found.value : undefined;
  }

  async #put(
    collection: string,
    key: string,
    value: unknown,
    { ttlMs }: PutOptions = {},
  ): Promise<void> {
    const text = jsonText(value);
    const expiresAt = ttlMs === undefined ? null : this.#clock.wallNow() + ttlMs;
    await this.#change(fileOf(collection, key), { collection, key, expiresAt, text });
  }

  async #entries(collection: string, prefix: string): Promise<readonly Entry[]> {
    this.#assertOpen();
    const found = new Map<string, Found | null>();
    // Some of it may be saved while the files are read, and may not be in what was read.
    const unsaved = [...this.#unsaved];
    for (const file of (await this.#list(collection)).files)
      found.set(file, await this.#read(file));
    // What is not on the disk yet is newer than what is.
    for (const [file, change] of [...unsaved, ...this.#unsaved]) found.set(file, foundIn(change));
    return [...found.values()]
      .filter((one) => one !== null)
      .filter(({ record }) => record.collection === collection && record.key.startsWith(prefix))
      .filter(({ record }) => this.#housekeeping.isAlive(record))
      .map(({ record, value }) => ({ key: record.key, value }))
      .sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  async #isWhole(collection: string): Promise<boolean> {
    this.#assertOpen();
    const { files, setAside, isComplete } = await this.#list(collection);
    for (const file of setAside) this.#files.remind(file);
    const readings = await Promise.all(files.map((file) => this.#files.read(file)));
    const isEachRead = readings.every(({ kind }) => kind === 'record' || kind === 'absent');
    return isComplete && setAside.length === 0 && isEachRead;
  }

  async #list(collection: string): Promise<RecordListing> {
    const listing = await this.#files.list(collection);
    if (!listing.isComplete) this.#retry.refused();
    return listing;
  }

  async #read(file: string): Promise<Found | null> {
    const reading = await this.#files.read(file);
    if (reading.kind === 'closed') this.#retry.refused();
    // In its turn, so that a record written meanwhile is not the one moved aside.
    if (reading.kind === 'damaged') await this.#inTurn(() => this.#files.quarantine(file));
    return reading.kind === 'record' ? reading : null;
  }

  /** Takes effect for readers at once; resolves when it is on the disk, or known to have failed. */
  async #change(file: string, record: StoredRecord | null): Promise<void> {
    this.#assertOpen();
    const change = { record, hasFailed: false };
    this.#unsaved.delete(file);
    this.#unsaved.set(file, change);
    await this.#inTurn(() => this.#save(file, change));
  }

  async #save(file: string, change: Change): Promise<void> {
    try {
      await this.#files.write(file, change.record);
    } catch (error) {
      change.hasFailed = true;
      const path = this.#disk.pathOf(file);
      this.#problem = this.#complaints.failure('unwritable', path, error).detail;
      this.#dropExcess();
      this.#retry.refused();
      return;
    }
    if (this.#unsaved.get(file) === change) this.#unsaved.delete(file);
    if (this.#problem !== null) this.#recover();
  }

  /** The disk takes writes again: what waits in memory follows, and then all is well. */
  #recover(): void {
    this.#saveAgain();
    if (this.#unsaved.size > 0) return;
    this.#problem = null;
    if (this.#files.problem === null) this.#retry.succeeded();
    this.#complaints.recovered(
      this.#disk.pathOf(''),
      'can be written again; what was kept in memory is saved',
    );
  }

  #tryAgain(): void {
    this.#saveAgain();
    this.#inTurnAlone(async () => {
      if (!(await this.#files.tryAgain())) this.#retry.refused();
      else if (this.#problem === null) this.#retry.succeeded();
    });
  }

  #saveAgain(): void {
    for (const [file, change] of this.#unsaved) {
      if (!change.hasFailed) continue;
      change.hasFailed = false;
      this.#inTurnAlone(() => this.#save(file, change));
    }
  }

  /** What is dropped is lost: a reader then finds what the disk held before. */
  #dropExcess(): void {
    const failed = [...this.#unsaved].filter(([, { hasFailed }]) => hasFailed);
    let bytes = failed.reduce((sum, [, change]) => sum + sizeOf(change), 0);
    for (const [file, change] of failed) {
      if (bytes <= this.#maxUnsavedBytes) return;
      bytes -= sizeOf(change);
      this.#unsaved.delete(file);
      const path = this.#disk.pathOf(file);
      const detail = `too much waits to be written to ${path}: the oldest changes are lost; free that disk`;
      this.#complaints.say({ kind: 'dropped', file: path, code: null, detail }, '');
    }
  }

  #scheduleSweep(): Disposable {
    const sweep = () => {
      this.#timer = this.#scheduleSweep();
      this.#inTurnAlone(() => this.#housekeeping.sweep((file) => this.#unsaved.has(file)));
    };
    return this.#clock.after(sweepEveryMs, sweep, true);
  }

  /** What crashes left half-written goes when a collection is first used: some never live until a sweep. */
  #tidyOnce(collection: string): void {
    if (this.#tidied.has(collection)) return;
    this.#tidied.add(collection);
    this.#inTurnAlone(() => this.#housekeeping.tidy(collection));
  }

  async #end(): Promise<void> {
    this.#timer[Symbol.dispose]();
    await this.#inTurn(async () => this.#saveAgain());
    await this.#lane;
    this.#retry[Symbol.dispose]();
  }

  /** One change after the other; a task that throws does not hold up the next. */
  #inTurn(task: () => Promise<void>): Promise<void> {
    const turn = this.#lane.then(task);
    this.#lane = turn.catch(() => {});
    return turn;
  }

  /** Nobody waits for these; what the disk does to them has been said by then. */
  #inTurnAlone(task: () => Promise<void>): void {
    this.#inTurn(task).catch(ignored);
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new Error('the store is closed');
  }
}

function foundIn({ record }: Change): Found | null {
  return record === null ? null : { record, value: JSON.parse(record.text) };
}

function sizeOf({ record }: Change): number {
  return record === null ? 0 : 2 * record.text.length;
}
