// The store on files, one file for each record. It has durable and forgetful records only: logs,
// queues and counters would need a file that is written in place. A failing disk never fails an
// operation on forgetful records; durable operations are refused while it fails. Several processes
// may share the folder: each reads what the others have written, and the last writer wins. Only at
// the very instant at which a record expires, a sweep of one process may collide with a renewal by
// another.

import type { Clock } from '../kernel/clock.ts';
import { ignored } from '../kernel/contain.ts';
import type { Counter } from './contract/counter.ts';
import type { Durability } from './contract/durability.ts';
import type { Log } from './contract/log.ts';
import type { Queue } from './contract/queue.ts';
import type { Records, RecordsOptions } from './contract/records.ts';
import { type Disk, nodeDisk } from './disk.ts';
import { DurableFileRecords } from './durable-file-records.ts';
import type { FileRecordsParts } from './file-reading.ts';
import { ForgetfulFileRecords } from './forgetful-file-records.ts';
import { Housekeeping } from './housekeeping.ts';
import { PendingChanges } from './pending-changes.ts';
import { Complaints, type StoreProblem } from './problem.ts';
import type { StoredRecord } from './record.ts';
import { RecordFiles } from './record-files.ts';
import { assertStoreName, jsonText, type Store, type StoreHealth } from './store.ts';
import { unsupported } from './store-error.ts';

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
): FileStore {
  return new FileStore({ ...options, disk: nodeDisk(folder) });
}

interface Opened {
  readonly durability: Durability;
  readonly records: Records;
}

const sweepEveryMs = 600_000;
const what = 'a store on files';

export class FileStore implements Store {
  readonly #clock: Clock;
  readonly #files: RecordFiles;
  readonly #pending: PendingChanges;
  readonly #housekeeping: Housekeeping;
  /** By name, one for each that was opened; names are written in the source. */
  readonly #opened = new Map<string, Opened>();
  #timer: Disposable;
  #written = 0;
  #closing: Promise<void> | undefined;

  constructor({ disk, clock, report, maxUnsavedBytes = 16_777_216 }: FilesStoreOptions) {
    this.#clock = clock;
    const complaints = new Complaints(report);
    this.#files = new RecordFiles(disk, complaints);
    const parts = { disk, files: this.#files, clock, complaints };
    this.#pending = new PendingChanges({ ...parts, maxUnsavedBytes });
    this.#housekeeping = new Housekeeping(parts);
    this.#timer = this.#scheduleSweep();
  }

  records(name: string, { durability, shape, version, maxEntries }: RecordsOptions): Records {
    assertStoreName(name);
    if (durability === 'process') throw unsupported(what, 'records that end with the process');
    if (maxEntries !== undefined) throw unsupported(what, 'records that are counted');
    const before = this.#opened.get(name);
    if (before !== undefined && before.durability !== durability) {
      throw new TypeError(`${name} is ${before.durability}, and cannot be ${durability}, too`);
    }
    this.#files.expect(name, { shape, version });
    if (before !== undefined) return before.records;
    const records = this.#open(name, durability);
    this.#opened.set(name, { durability, records });
    // Temporary files of crashed processes are removed now: some processes never live until a
    // sweep.
    this.#pending.inTurnAlone(name, () => this.#housekeeping.tidy(name));
    return records;
  }

  log(): Log {
    throw unsupported(what, 'logs');
  }

  queue(): Queue {
    throw unsupported(what, 'queues');
  }

  counter(): Counter {
    throw unsupported(what, 'counters');
  }

  health(): StoreHealth {
    const problem = this.#pending.problem ?? this.#files.problem;
    return problem === null ? { ok: true } : { ok: false, problem };
  }

  /**
   * The next process of the instance has the files from now on: what is forgetful is not written here any more. Durable
   * records are written as before, because several processes do that.
   */
  async handOver(): Promise<void> {
    this.#timer[Symbol.dispose]();
    this.#housekeeping.stop();
    await this.#pending.handOver();
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #open(name: string, durability: Durability): Records {
    const parts: FileRecordsParts = {
      name,
      files: this.#files,
      pending: this.#pending,
      housekeeping: this.#housekeeping,
      newRecord: (key, value, ttlMs) => this.#newRecord(name, key, value, ttlMs),
    };
    return durability === 'durable'
      ? new DurableFileRecords(parts)
      : new ForgetfulFileRecords(parts);
  }

  #newRecord(
    collection: string,
    key: string,
    value: unknown,
    ttlMs: number | undefined,
  ): StoredRecord {
    const text = jsonText(value);
    const now = this.#clock.wallNow();
    this.#written += 1;
    const version = `${now.toString(36)}-${this.#written.toString(36)}`;
    const expiresAt = ttlMs === undefined ? null : now + ttlMs;
    return { collection, key, expiresAt, version, text };
  }

  #scheduleSweep(): Disposable {
    const sweep = () => {
      this.#timer = this.#scheduleSweep();
      const isWaiting = (file: string) => this.#pending.unsaved(file) !== undefined;
      const inTurn = (name: string, work: () => Promise<void>) => this.#pending.inTurn(name, work);
      this.#housekeeping.sweep(isWaiting, inTurn).catch(ignored);
    };
    return this.#clock.after(sweepEveryMs, sweep, true);
  }

  async #end(): Promise<void> {
    this.#timer[Symbol.dispose]();
    this.#housekeeping.stop();
    await this.#pending.end();
  }
}
