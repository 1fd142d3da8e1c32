// Forgetful records in files: what cannot be written is kept in memory until it can, what cannot be
// read counts as absent, and neither is an error for the caller. A change is visible to readers at
// once.

import type { ConditionalPut, PutOptions, RecordEntry, Version } from './contract/records.ts';
import type { Found } from './file-reading.ts';
import { FileRecords } from './file-records.ts';
import type { Change } from './pending-changes.ts';

export class ForgetfulFileRecords extends FileRecords {
  async get(key: string): Promise<RecordEntry | undefined> {
    this.pending.assertOpen();
    const file = this.reading.fileOf(key);
    const waiting = this.pending.unsaved(file);
    const found = waiting === undefined ? await this.reading.find(file) : foundIn(waiting);
    return this.reading.entryOf(found === 'closed' ? undefined : found);
  }

  async put(key: string, value: unknown, { ttlMs }: PutOptions = {}): Promise<Version> {
    this.pending.assertOpen();
    const record = this.parts.newRecord(key, value, ttlMs);
    await this.pending.change(this.reading.fileOf(key), record);
    return record.version;
  }

  async remove(key: string): Promise<void> {
    this.pending.assertOpen();
    await this.pending.change(this.reading.fileOf(key), null);
  }

  async entries(prefix = ''): Promise<readonly RecordEntry[]> {
    this.pending.assertOpen();
    const found = new Map<string, Found | undefined>();
    // Some of it may be saved while the files are read, and may not be in what was read.
    const unsaved = this.pending.allUnsaved();
    const { files } = await this.reading.list();
    const read = await Promise.all(files.map((file) => this.reading.find(file)));
    for (const [at, file] of files.entries()) {
      const one = read[at];
      found.set(file, one === 'closed' ? undefined : one);
    }
    // A pending change is newer than the file.
    for (const [file, change] of [...unsaved, ...this.pending.allUnsaved()]) {
      found.set(file, foundIn(change));
    }
    const known = [...found.values()].filter((one) => one !== undefined);
    return this.reading.entriesOf(known, prefix);
  }

  async isWhole(): Promise<boolean> {
    this.pending.assertOpen();
    return this.reading.isWhole();
  }

  protected override async putIf(
    key: string,
    isRight: (entry: RecordEntry | undefined) => boolean,
    value: unknown,
    { ttlMs }: PutOptions = {},
  ): Promise<ConditionalPut> {
    this.pending.assertOpen();
    const record = this.parts.newRecord(key, value, ttlMs);
    const file = this.reading.fileOf(key);
    return this.pending.inTurn(this.parts.name, async () => {
      const entry = this.reading.entryOf(await this.#foundNow(file));
      // There is no await between this check and the change.
      if (!isRight(entry)) return { isPut: false, entry };
      await this.pending.changeNow(file, record);
      return { isPut: true, version: record.version };
    });
  }

  async #foundNow(file: string): Promise<Found | undefined> {
    const before = this.pending.unsaved(file);
    const found = before === undefined ? await this.reading.findNow(file) : undefined;
    // It may have been changed while the file was read.
    const now = this.pending.unsaved(file);
    if (now !== undefined) return foundIn(now);
    return found === 'closed' ? undefined : found;
  }
}

function foundIn({ record }: Change): Found | undefined {
  return record === null ? undefined : { record, value: JSON.parse(record.text) };
}
