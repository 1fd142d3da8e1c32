// Reads the records of one name from their files, and tells apart which are valid, damaged or
// unreadable now. Shared by the two kinds of records in files.

import type { RecordEntry } from './contract/records.ts';
import type { Housekeeping } from './housekeeping.ts';
import type { PendingChanges } from './pending-changes.ts';
import type { StoredRecord } from './record.ts';
import { collectionOf, fileOf, type RecordFiles, type RecordListing } from './record-files.ts';

export interface FileRecordsParts {
  readonly name: string;
  readonly files: RecordFiles;
  readonly pending: PendingChanges;
  readonly housekeeping: Housekeeping;
  /** The record as it is to be written, with a version of its own. */
  newRecord(key: string, value: unknown, ttlMs: number | undefined): StoredRecord;
}

export interface Found {
  readonly record: StoredRecord;
  readonly value: unknown;
}

/** Undefined: there is none. `closed`: it exists but cannot be read now, and this was reported. */
export type FileFinding = Found | undefined | 'closed';

export class FileReading {
  readonly #parts: FileRecordsParts;

  constructor(parts: FileRecordsParts) {
    this.#parts = parts;
  }

  fileOf(key: string): string {
    return fileOf(this.#parts.name, key);
  }

  /** The content of the disk; damaged files are set aside. The caller must have the turn. */
  async findNow(file: string): Promise<FileFinding> {
    return this.#find(file, () => this.#parts.files.quarantine(file));
  }

  /**
   * The same without the turn: setting aside waits for the turn, so that a file just written is not
   * moved.
   */
  async find(file: string): Promise<FileFinding> {
    const { files, pending } = this.#parts;
    return this.#find(file, () => pending.inTurn(collectionOf(file), () => files.quarantine(file)));
  }

  async list(): Promise<RecordListing> {
    const { files, name, pending } = this.#parts;
    const listing = await files.list(name);
    if (!listing.isComplete) pending.tryReadingAgain();
    return listing;
  }

  async isWhole(): Promise<boolean> {
    const { files } = this.#parts;
    const listing = await this.list();
    for (const file of listing.setAside) files.remind(file);
    const readings = await Promise.all(listing.files.map((file) => files.read(file)));
    const isEachRead = readings.every(({ kind }) => kind === 'record' || kind === 'absent');
    return listing.isComplete && listing.setAside.length === 0 && isEachRead;
  }

  /** Undefined if it has expired. */
  entryOf(found: Found | undefined): RecordEntry | undefined {
    if (found === undefined || !this.#parts.housekeeping.isAlive(found.record)) return undefined;
    const { key, version } = found.record;
    return { key, value: found.value, version };
  }

  /** The valid ones with this prefix, in the order of their keys. */
  entriesOf(found: readonly Found[], prefix: string): readonly RecordEntry[] {
    return found
      .filter(({ record }) => record.collection === this.#parts.name)
      .map((one) => this.entryOf(one))
      .filter((entry) => entry !== undefined)
      .filter(({ key }) => key.startsWith(prefix))
      .sort((one, other) => (one.key < other.key ? -1 : 1));
  }

  async #find(file: string, quarantine: () => Promise<void>): Promise<FileFinding> {
    const reading = await this.#parts.files.read(file);
    if (reading.kind === 'record') return reading;
    if (reading.kind === 'damaged') await quarantine();
    if (reading.kind !== 'closed') return undefined;
    this.#parts.pending.tryReadingAgain();
    return 'closed';
  }
}
