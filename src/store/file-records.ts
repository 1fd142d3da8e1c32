// What durable and forgetful records in files share: both kinds of conditional change are one
// operation with a different condition.

import type {
  ConditionalPut,
  PutOptions,
  RecordEntry,
  Records,
  Version,
} from './contract/records.ts';
import { FileReading, type FileRecordsParts } from './file-reading.ts';
import type { PendingChanges } from './pending-changes.ts';

export abstract class FileRecords implements Records {
  protected readonly parts: FileRecordsParts;
  protected readonly pending: PendingChanges;
  protected readonly reading: FileReading;

  constructor(parts: FileRecordsParts) {
    this.parts = parts;
    this.pending = parts.pending;
    this.reading = new FileReading(parts);
  }

  abstract get(key: string): Promise<RecordEntry | undefined>;
  abstract put(key: string, value: unknown, options?: PutOptions): Promise<Version>;
  abstract remove(key: string): Promise<void>;
  abstract entries(prefix?: string): Promise<readonly RecordEntry[]>;
  abstract isWhole(): Promise<boolean>;

  /** Puts the value if the condition accepts the existing record. */
  protected abstract putIf(
    key: string,
    isRight: (entry: RecordEntry | undefined) => boolean,
    value: unknown,
    options?: PutOptions,
  ): Promise<ConditionalPut>;

  putIfAbsent(key: string, value: unknown, options?: PutOptions): Promise<ConditionalPut> {
    return this.putIf(key, (entry) => entry === undefined, value, options);
  }

  compareAndSet(
    key: string,
    version: Version,
    value: unknown,
    options?: PutOptions,
  ): Promise<ConditionalPut> {
    return this.putIf(key, (entry) => entry?.version === version, value, options);
  }
}
