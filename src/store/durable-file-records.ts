// Durable records in files: a change that has resolved survives a crash and a power cut
// (`disk.ts`), and one that cannot be written is rejected. Readers see only what is on the disk:
// reads and changes run one after the other, in the order of their calls. A record that exists but
// cannot be read is never replaced by a conditional change; a damaged one is set aside and
// reported, and counts as absent from then on, as `isWhole` shows. Conditional changes are atomic
// within this process; between two processes that share a folder the last writer wins.

import type { ConditionalPut, PutOptions, RecordEntry, Version } from './contract/records.ts';
import type { Found } from './file-reading.ts';
import { FileRecords } from './file-records.ts';
import { StoreError } from './store-error.ts';

export class DurableFileRecords extends FileRecords {
  get(key: string): Promise<RecordEntry | undefined> {
    return this.#inTurn(() => this.#entryNow(key));
  }

  async put(key: string, value: unknown, { ttlMs }: PutOptions = {}): Promise<Version> {
    const record = this.parts.newRecord(key, value, ttlMs);
    await this.#inTurn(() => this.pending.keepNow(this.reading.fileOf(key), record));
    return record.version;
  }

  remove(key: string): Promise<void> {
    return this.#inTurn(() => this.pending.keepNow(this.reading.fileOf(key), null));
  }

  entries(prefix = ''): Promise<readonly RecordEntry[]> {
    return this.#inTurn(async () => {
      const { files } = await this.reading.list();
      const read = await Promise.all(files.map((file) => this.reading.findNow(file)));
      const found = read.filter((one): one is Found => one !== undefined && one !== 'closed');
      return this.reading.entriesOf(found, prefix);
    });
  }

  isWhole(): Promise<boolean> {
    return this.#inTurn(() => this.reading.isWhole());
  }

  protected override async putIf(
    key: string,
    isRight: (entry: RecordEntry | undefined) => boolean,
    value: unknown,
    { ttlMs }: PutOptions = {},
  ): Promise<ConditionalPut> {
    const record = this.parts.newRecord(key, value, ttlMs);
    return this.#inTurn(async () => {
      const entry = await this.#entryNow(key);
      if (!isRight(entry)) return { isPut: false, entry };
      await this.pending.keepNow(this.reading.fileOf(key), record);
      return { isPut: true, version: record.version };
    });
  }

  async #entryNow(key: string): Promise<RecordEntry | undefined> {
    const { name, files } = this.parts;
    const file = this.reading.fileOf(key);
    const found = await this.reading.findNow(file);
    if (found !== 'closed') return this.reading.entryOf(found);
    const problem = files.problem ?? 'it was written by a newer Holdfast';
    const detail = `a record of ${name} cannot be read: ${problem}`;
    throw new StoreError('unreadable', detail, files.errorOf(file));
  }

  async #inTurn<T>(task: () => Promise<T>): Promise<T> {
    this.pending.assertOpen();
    return this.pending.inTurn(this.parts.name, task);
  }
}
