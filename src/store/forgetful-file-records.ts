// Forgetful records on files: what cannot be written is kept in memory until it can, what cannot be read
// counts as absent, and neither fails whoever asks. A change takes effect for readers at once.

import type {
  ConditionalPut,
  PutOptions,
  RecordEntry,
  Records,
  Version,
} from './contract/records.ts';
import { FileReading, type FileRecordsParts, type Found } from './file-reading.ts';
import type { Change, PendingChanges } from './pending-changes.ts';

export class ForgetfulFileRecords implements Records {
  readonly #parts: FileRecordsParts;
  readonly #pending: PendingChanges;
  readonly #reading: FileReading;

  constructor(parts: FileRecordsParts) {
    this.#parts = parts;
    this.#pending = parts.pending;
    this.#reading = new FileReading(parts);
  }

  async get(key: string): Promise<RecordEntry | undefined> {
    this.#pending.assertOpen();
    const file = this.#reading.fileOf(key);
    const waiting = this.#pending.unsaved(file);
    const found = waiting === undefined ? await this.#reading.find(file) : foundIn(waiting);
    return this.#reading.entryOf(found === 'closed' ? undefined : found);
  }

  async put(key: string, value: unknown, { ttlMs }: PutOptions = {}): Promise<Version> {
    this.#pending.assertOpen();
    const record = this.#parts.newRecord(key, value, ttlMs);
    await this.#pending.change(this.#reading.fileOf(key), record);
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

  async remove(key: string): Promise<void> {
    this.#pending.assertOpen();
    await this.#pending.change(this.#reading.fileOf(key), null);
  }

  async entries(prefix = ''): Promise<readonly RecordEntry[]> {
    this.#pending.assertOpen();
    const found = new Map<string, Found | undefined>();
    // Some of it may be saved while the files are read, and may not be in what was read.
    const unsaved = this.#pending.allUnsaved();
    for (const file of (await this.#reading.list()).files) {
      const one = await this.#reading.find(file);
      found.set(file, one === 'closed' ? undefined : one);
    }
    // What is not on the disk yet is newer than what is.
    for (const [file, change] of [...unsaved, ...this.#pending.allUnsaved()]) {
      found.set(file, foundIn(change));
    }
    const known = [...found.values()].filter((one) => one !== undefined);
    return this.#reading.entriesOf(known, prefix);
  }

  async isWhole(): Promise<boolean> {
    this.#pending.assertOpen();
    return this.#reading.isWhole();
  }

  async #putIf(
    key: string,
    isRight: (entry: RecordEntry | undefined) => boolean,
    value: unknown,
    { ttlMs }: PutOptions = {},
  ): Promise<ConditionalPut> {
    this.#pending.assertOpen();
    const record = this.#parts.newRecord(key, value, ttlMs);
    const file = this.#reading.fileOf(key);
    return this.#pending.inTurn(async () => {
      const entry = this.#reading.entryOf(await this.#foundNow(file));
      // Nothing is waited for between this and the change.
      if (!isRight(entry)) return { isPut: false, entry };
      await this.#pending.changeNow(file, record);
      return { isPut: true, version: record.version };
    });
  }

  async #foundNow(file: string): Promise<Found | undefined> {
    const before = this.#pending.unsaved(file);
    const found = before === undefined ? await this.#reading.findNow(file) : undefined;
    // It may have been changed while the file was read.
    const now = this.#pending.unsaved(file);
    if (now !== undefined) return foundIn(now);
    return found === 'closed' ? undefined : found;
  }
}

function foundIn({ record }: Change): Found | undefined {
  return record === null ? undefined : { record, value: JSON.parse(record.text) };
}
