// The records of a store as files that may be missing, unreadable, damaged or from another time. Reading
// never throws for any of that: it gives the record or null, and says what is wrong. A damaged file is
// moved aside, so that it can be looked at and does not stand in the way. When to write is the store's.

import { hash } from 'node:crypto';
import { errnoOf } from '../kernel/errno.ts';
import type { Disk } from './disk.ts';
import type { Complaints } from './problem.ts';
import { decodeRecord, encodeRecord, type StoredRecord } from './record.ts';

const suffix = '.record';

/** Keys may hold anything, so the file's name is a hash; the key itself is inside. */
export function fileOf(collection: string, key: string): string {
  return `${collection}/${hash('sha256', key, 'hex')}${suffix}`;
}

export type Reading =
  | { readonly kind: 'record'; readonly record: StoredRecord }
  | { readonly kind: 'absent' }
  | { readonly kind: 'damaged'; readonly reason: string };

export class RecordFiles {
  readonly #disk: Disk;
  readonly #complaints: Complaints;

  constructor(disk: Disk, complaints: Complaints) {
    this.#disk = disk;
    this.#complaints = complaints;
  }

  async read(file: string): Promise<Reading> {
    let bytes: Buffer | undefined;
    try {
      bytes = await this.#disk.read(file);
    } catch (error) {
      this.#complaints.failure('unreadable', this.#disk.pathOf(file), error);
    }
    if (bytes === undefined) return { kind: 'absent' };
    const decoded = decodeRecord(bytes);
    if (decoded.kind === 'newer') {
      this.#sayNewer(file, decoded.version);
      return { kind: 'absent' };
    }
    if (decoded.kind === 'damaged') return decoded;
    const { record } = decoded;
    if (fileOf(record.collection, record.key) === file) return { kind: 'record', record };
    return { kind: 'damaged', reason: 'it holds the record of another key' };
  }

  /** Moves the file aside if it is still damaged. Not while it is being written. */
  async quarantine(file: string): Promise<void> {
    const reading = await this.read(file);
    if (reading.kind !== 'damaged') return;
    const path = this.#disk.pathOf(file);
    let rest = 'it could not be moved aside: delete it';
    try {
      rest = `it was moved to ${this.#disk.pathOf(await this.#disk.setAside(file))}: look at it or delete it`;
    } catch (error) {
      // A folder that cannot be written: the report says what is left to do.
      if (errnoOf(error) === undefined) throw error;
    }
    const detail = `${path} is damaged (${reading.reason}) and counts as absent; ${rest}`;
    this.#complaints.say({ kind: 'damaged', file: path, code: null, detail }, path);
  }

  /** Puts the record in its file; null removes the file. Throws what the disk throws. */
  async write(file: string, record: StoredRecord | null): Promise<void> {
    if (record === null) await this.#disk.remove(file);
    else await this.#disk.replace(file, encodeRecord(record));
  }

  async list(collection: string): Promise<string[]> {
    try {
      const names = await this.#disk.list(collection);
      return names.filter((name) => name.endsWith(suffix)).map((name) => `${collection}/${name}`);
    } catch (error) {
      this.#complaints.failure('unreadable', this.#disk.pathOf(collection), error);
      return [];
    }
  }

  #sayNewer(file: string, version: number): void {
    const path = this.#disk.pathOf(file);
    const detail = `${path} was written by a newer Holdfast (format ${version}) and counts as absent: upgrade, or delete it`;
    this.#complaints.say({ kind: 'newer', file: path, code: null, detail }, path);
  }
}
