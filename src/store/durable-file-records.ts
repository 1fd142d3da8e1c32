// Durable records on files: a change that has resolved outlives a crash and a power cut (`disk.ts`), and
// one that cannot be written is rejected. Readers see only what is on the disk: every read and every
// change has its turn, also for what was asked for before. A record that is there and cannot be read is
// never replaced by a conditional change; a damaged one is set aside and reported, and counts as absent
// from then on, as `isWhole` tells. Changes with a condition are atomic within this process; two processes
// that share a folder are not kept apart: there the last writer wins.

import type {
  ConditionalPut,
  PutOptions,
  RecordEntry,
  Records,
  Version,
} from './contract/records.ts';
import { FileReading, type FileRecordsParts, type Found } from './file-reading.ts';
import type { PendingChanges } from './pending-changes.ts';
import { StoreError } from './store-error.ts';

export class DurableFileRecords implements Records {
  readonly #parts: FileRecordsParts;
  readonly #pending: PendingChanges;
  readonly #reading: FileReading;

  constructor(parts: FileRecordsParts) {
    this.#parts = parts;
    this.#pending = parts.pending;
    this.#reading = new FileReading(parts);
  }

  get(key: string): Promise<RecordEntry | undefined> {
    return this.#inTurn(() => this.#entryNow(key));
  }

  async put(key: string, value: unknown, { ttlMs }: PutOptions = {}): Promise<Version> {
    const record = this.#parts.newRecord(key, value, ttlMs);
    await this.#inTurn(() => this.#pending.keepNow(this.#reading.fileOf(key), record));
    return record.version;
  }

  putIfAbsent(key: string, value: unknown, options?: PutOptions): Promise<ConditionalPut> {
    return this.#putIf(key, (entry) => entry === undefined, value, options);
  }

  compareAndSet(
    key: string,
    version: Version,
    value: unknown,
    options?: PutOptions,
  ): Promise<ConditionalPut> {
    return this.#putIf(key, (entry) => entry?.version === version, value, options);
  }

  remove(key: string): Promise<void> {
    return this.#inTurn(() => this.#pending.keepNow(this.#reading.fileOf(key), null));
  }

  entries(prefix = ''): Promise<readonly RecordEntry[]> {
    return this.#inTurn(async () => {
      const found: Found[] = [];
      for (const file of (await this.#reading.list()).files) {
        const one = await this.#reading.findNow(file);
        if (one !== undefined && one !== 'closed') found.push(one);
      }
      return this.#reading.entriesOf(found, prefix);
    });
  }

  isWhole(): Promise<boolean> {
    return this.#inTurn(() => this.#reading.isWhole());
  }

  async #putIf(
    key: string,
    isRight: (entry: RecordEntry | undefined) => boolean,
    value: unknown,
    { ttlMs }: PutOptions = {},
  ): Promise<ConditionalPut> {
    const record = this.#parts.newRecord(key, value, ttlMs);
    return this.#inTurn(async () => {
      const entry = await this.#entryNow(key);
      if (!isRight(entry)) return { isPut: false, entry };
      await this.#pending.keepNow(this.#reading.fileOf(key), record);
      return { isPut: true, version: record.version };
    });
  }

  async #entryNow(key: string): Promise<RecordEntry | undefined> {
    const found = await this.#reading.findNow(this.#reading.fileOf(key));
    if (found !== 'closed') return this.#reading.entryOf(found);
    const problem = this.#parts.files.problem ?? 'it was written by a newer Holdfast';
    throw new StoreError(
      'unreadable',
      `a record of ${this.#parts.name} cannot be read: ${problem}`,
    );
  }

  async #inTurn<T>(task: () => Promise<T>): Promise<T> {
    this.#pending.assertOpen();
    return this.#pending.inTurn(task);
  }
}
