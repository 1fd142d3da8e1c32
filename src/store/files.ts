// The store on files, one for each record. A disk that fails never fails a caller: what cannot be written
// is kept in memory, reported once, shown by `health`, and tried again with the next success and every
// few minutes. Changes go to the disk one after the other, so the last put wins. Several processes may
// share the folder: each reads what the others have written, and the last writer wins; only in the very
// instant in which a record expires may a sweep of one process meet a renewal by another.

import type { Clock } from '../kernel/clock.ts';
import { type Disk, nodeDisk } from './disk.ts';
import { Complaints, type StoreProblem } from './problem.ts';
import type { StoredRecord } from './record.ts';
import { fileOf, RecordFiles } from './record-files.ts';
import {
  assertCollectionName,
  type Collection,
  type Entry,
  jsonText,
  type PutOptions,
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

/** Opens the store in a folder of its own. Nothing is touched before it is needed. */
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

const sweepEveryMs = 600_000;
const leftoverAgeMs = 3_600_000;

export class FilesStore implements Store {
  readonly #disk: Disk;
  readonly #clock: Clock;
  readonly #complaints: Complaints;
  readonly #files: RecordFiles;
  readonly #maxUnsavedBytes: number;
  readonly #unsaved = new Map<string, Change>();
  #lane: Promise<void> = Promise.resolve();
  #problem: string | null = null;
  #timer: Disposable;
  #closing: Promise<void> | undefined;

  constructor({ disk, clock, report, maxUnsavedBytes = 16_777_216 }: FilesStoreOptions) {
    this.#disk = disk;
    this.#clock = clock;
    this.#complaints = new Complaints(report);
    this.#files = new RecordFiles(disk, this.#complaints);
    this.#maxUnsavedBytes = maxUnsavedBytes;
    this.#timer = this.#scheduleSweep();
  }

  collection(name: string): Collection {
    assertCollectionName(name);
    return {
      get: (key) => this.#get(fileOf(name, key)),
      put: (key, value, options) => this.#put(name, key, value, options),
      remove: (key) => this.#change(fileOf(name, key), null),
      entries: (prefix = '') => this.#entries(name, prefix),
    };
  }

  health(): StoreHealth {
    return this.#problem === null ? { ok: true } : { ok: false, problem: this.#problem };
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
    const record = waiting === undefined ? await this.#read(file) : waiting.record;
    return record !== null && this.#isAlive(record) ? JSON.parse(record.text) : undefined;
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
    const records = new Map<string, StoredRecord | null>();
    for (const file of await this.#files.list(collection)) {
      records.set(file, await this.#read(file));
    }
    // What is not on the disk yet is newer than what is.
    for (const [file, { record }] of this.#unsaved) records.set(file, record);
    return [...records.values()]
      .filter((record) => record !== null)
      .filter((record) => record.collection === collection && record.key.startsWith(prefix))
      .filter((record) => this.#isAlive(record))
      .map(({ key, text }) => ({ key, value: JSON.parse(text) }))
      .sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  async #read(file: string): Promise<StoredRecord | null> {
    const reading = await this.#files.read(file);
    // In its turn, so that a record written meanwhile is not the one moved aside.
    if (reading.kind === 'damaged') await this.#inTurn(() => this.#files.quarantine(file));
    return reading.kind === 'record' ? reading.record : null;
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
      return;
    }
    if (this.#unsaved.get(file) === change) this.#unsaved.delete(file);
    if (this.#problem !== null) this.#recover();
  }

  /** The disk takes writes again: what waits in memory follows, and then all is well. */
  #recover(): void {
    this.#retry();
    if (this.#unsaved.size > 0) return;
    this.#problem = null;
    this.#complaints.recovered(this.#disk.pathOf(''));
  }

  #retry(): void {
    for (const [file, change] of this.#unsaved) {
      if (!change.hasFailed) continue;
      change.hasFailed = false;
      // Nobody waits for this one; if it fails, `#save` has said so.
      void this.#inTurn(() => this.#save(file, change));
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
      void this.#inTurn(() => this.#sweep());
    };
    return this.#clock.after(sweepEveryMs, sweep, true);
  }

  /** Removes what is over or was left by a crash, and tries again what has failed. */
  async #sweep(): Promise<void> {
    this.#retry();
    try {
      for (const collection of await this.#disk.list('')) {
        await this.#disk.tidy(collection, this.#clock.wallNow() - leftoverAgeMs);
        for (const file of await this.#files.list(collection)) await this.#sweepOne(file);
      }
    } catch (error) {
      this.#complaints.failure('unreadable', this.#disk.pathOf(''), error);
    }
  }

  async #sweepOne(file: string): Promise<void> {
    if (this.#unsaved.has(file)) return;
    const reading = await this.#files.read(file);
    if (reading.kind === 'damaged') await this.#files.quarantine(file);
    if (reading.kind === 'record' && !this.#isAlive(reading.record)) {
      await this.#files.write(file, null);
    }
  }

  async #end(): Promise<void> {
    this.#timer[Symbol.dispose]();
    await this.#inTurn(async () => this.#retry());
    await this.#lane;
  }

  /** One change after the other; a task that throws does not hold up the next. */
  #inTurn(task: () => Promise<void>): Promise<void> {
    const turn = this.#lane.then(task);
    this.#lane = turn.catch(() => {});
    return turn;
  }

  #isAlive({ expiresAt }: StoredRecord): boolean {
    return expiresAt === null || this.#clock.wallNow() < expiresAt;
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new Error('the store is closed');
  }
}

function sizeOf({ record }: Change): number {
  return record === null ? 0 : 2 * record.text.length;
}
