// The records of a store as files that may be missing, unreadable, damaged or written by another
// version. Reading never throws for any of these: it returns which one it is, and reports it. A
// damaged file is renamed, so that it can be examined and does not block the record. The store
// decides when to write.

import { hash } from 'node:crypto';
import { errnoOf } from '../kernel/errno.ts';
import { FileTooLarge } from '../kernel/file-too-large.ts';
import { isRecord } from '../kernel/json-values.ts';
import type { Shape } from './contract/records.ts';
import type { Disk } from './disk.ts';
import type { Complaints } from './problem.ts';
import { decodeRecord, encodeRecord, type StoredRecord } from './record.ts';
import { maxRecordBytes } from './record-limit.ts';

const suffix = '.record';
/** What `Disk.setAside` adds to a name. */
const setAside = `${suffix}.damaged`;

/** Keys may hold anything, so the file's name is a hash; the key itself is inside. */
export function fileOf(collection: string, key: string): string {
  return `${collection}/${hash('sha256', key, 'hex')}${suffix}`;
}

export type RecordReading =
  | { readonly kind: 'record'; readonly record: StoredRecord; readonly value: unknown }
  | { readonly kind: 'absent' }
  | { readonly kind: 'damaged'; readonly reason: string }
  /** It exists but cannot be read, and this was reported. */
  | { readonly kind: 'closed' };

export interface RecordListing {
  readonly files: readonly string[];
  /** Of damaged ones, by this process or an earlier one. */
  readonly setAside: readonly string[];
  /** False if it could not be listed, which was reported. */
  readonly isComplete: boolean;
}

/** What is expected of the values of a collection. */
interface Expected {
  readonly shape?: Shape | undefined;
  /** The highest that is known. */
  readonly version?: number | undefined;
}

const maxNewer = 1_000;

export class RecordFiles {
  readonly #disk: Disk;
  readonly #complaints: Complaints;
  /** Files and folders that could not be read, and why, until they can. */
  readonly #closed = new Map<string, { readonly detail: string; readonly error: unknown }>();
  /** What the values of a collection look like; at most one for each collection. */
  readonly #expected = new Map<string, Expected>();
  /** Files of a newer Holdfast, until they are found to be others; at most `maxNewer`. */
  readonly #newer = new Set<string>();

  constructor(disk: Disk, complaints: Complaints) {
    this.#disk = disk;
    this.#complaints = complaints;
  }

  /** From now on a value of the collection that does not have this shape is damaged; one of a higher version is not. */
  expect(collection: string, expected: Expected): void {
    const { shape, version } = expected;
    if (shape || version !== undefined) this.#expected.set(collection, expected);
  }

  /** Whether it was, when it was last read, and still is. */
  async isOfNewer(file: string): Promise<boolean> {
    if (!this.#newer.has(file)) return false;
    await this.read(file);
    return this.#newer.has(file);
  }

  /** What cannot be read now, in one line; null if there is nothing of the kind. */
  get problem(): string | null {
    return this.#closed.values().next().value?.detail ?? null;
  }

  /** Why this file could not be read when that was last tried; undefined if it could, or is of a newer Holdfast. */
  errorOf(file: string): unknown {
    return this.#closed.get(file)?.error;
  }

  /**
   * Reads once more what could not be read, as long as that is wanted; resolves to whether all of
   * it can be now.
   */
  async tryAgain(isWanted: () => boolean): Promise<boolean> {
    for (const name of [...this.#closed.keys()]) {
      if (!isWanted()) break;
      if (name.endsWith(suffix)) await this.read(name);
      else await this.list(name);
    }
    return this.#closed.size === 0;
  }

  async read(file: string): Promise<RecordReading> {
    let bytes: Buffer | undefined;
    try {
      bytes = await this.#disk.read(file, maxRecordBytes(collectionOf(file)));
    } catch (error) {
      if (error instanceof FileTooLarge) return { kind: 'damaged', reason: tooLarge(error) };
      if (errnoOf(error) === 'EISDIR') return { kind: 'damaged', reason: 'it is a folder' };
      this.#unreadable(file, error);
      return { kind: 'closed' };
    }
    this.#readable(file);
    this.#newer.delete(file);
    if (bytes === undefined) return { kind: 'absent' };
    const decoded = decodeRecord(bytes);
    if (decoded.kind === 'newer') {
      this.#sayNewer(file, `format ${decoded.version}`);
      return { kind: 'closed' };
    }
    if (decoded.kind === 'damaged') return decoded;
    const { record, value } = decoded;
    if (fileOf(record.collection, record.key) !== file)
      return { kind: 'damaged', reason: 'it holds the record of another key' };
    const { shape, version } = this.#expected.get(record.collection) ?? {};
    const written = versionIn(value);
    if (version !== undefined && written !== undefined && written > version) {
      this.#sayNewer(file, `version ${written}`);
      return { kind: 'closed' };
    }
    if (shape?.(value) === false)
      return { kind: 'damaged', reason: `its value is not one of ${record.collection}` };
    return decoded;
  }

  /** Renames the file if it is still damaged. Must not run while the file is being written. */
  async quarantine(file: string): Promise<void> {
    const reading = await this.read(file);
    if (reading.kind !== 'damaged') return;
    const path = this.#disk.pathOf(file);
    let rest = 'it could not be moved aside: delete it';
    try {
      const aside = this.#disk.pathOf(await this.#disk.setAside(file));
      rest = `it was moved to ${aside}: put a good copy in its place, or delete it`;
    } catch (error) {
      // The folder is not writable: the report says what is left to do.
      if (errnoOf(error) === undefined) throw error;
    }
    const detail = `${path} is damaged (${reading.reason}) and counts as absent; ${rest}`;
    this.#complaints.say({ kind: 'damaged', file: path, code: null, detail }, path);
  }

  /**
   * Writes the record to its file; null removes the file. A record that is too large to be read
   * back is not stored, and the previous one is removed, because it is outdated. Throws what the
   * disk throws.
   */
  async write(file: string, record: StoredRecord | null): Promise<void> {
    const bytes = record === null ? null : encodeRecord(record);
    const isKept = bytes !== null && bytes.length <= maxRecordBytes(collectionOf(file));
    if (isKept) await this.#disk.replace(file, bytes);
    else await this.#disk.remove(file);
    if (bytes !== null && !isKept) this.#sayTooLarge(file, bytes.length);
  }

  isTooLarge(file: string, record: StoredRecord): boolean {
    return encodeRecord(record).length > maxRecordBytes(collectionOf(file));
  }

  async list(collection: string): Promise<RecordListing> {
    try {
      const names = await this.#disk.list(collection);
      this.#readable(collection);
      const inCollection = (end: string) =>
        names.filter((name) => name.endsWith(end)).map((name) => `${collection}/${name}`);
      return { files: inCollection(suffix), setAside: inCollection(setAside), isComplete: true };
    } catch (error) {
      this.#unreadable(collection, error);
      return { files: [], setAside: [], isComplete: false };
    }
  }

  /** Reports again, once for this process, what an earlier process set aside. */
  remind(file: string): void {
    const path = this.#disk.pathOf(file);
    const place = path.slice(0, -(setAside.length - suffix.length));
    const detail = `${path} was set aside because it is damaged, and is missing: put a good copy at ${place}, or delete it`;
    this.#complaints.say({ kind: 'damaged', file: path, code: null, detail }, place);
  }

  #unreadable(name: string, error: unknown): void {
    const { detail } = this.#complaints.failure('unreadable', this.#disk.pathOf(name), error);
    this.#closed.set(name, { detail, error });
  }

  #readable(name: string): void {
    if (!this.#closed.delete(name) || this.#closed.size > 0) return;
    this.#complaints.recovered(this.#disk.pathOf(name), 'can be read again');
  }

  #sayTooLarge(file: string, bytes: number): void {
    const path = this.#disk.pathOf(file);
    const limit = maxRecordBytes(collectionOf(file));
    const detail = `${path} would have ${bytes} bytes, and at most ${limit} are kept: it is not stored, and is missing after the next start`;
    this.#complaints.say({ kind: 'dropped', file: path, code: null, detail }, path);
  }

  #sayNewer(file: string, version: string): void {
    const [first] = this.#newer;
    if (this.#newer.size >= maxNewer && first !== undefined) this.#newer.delete(first);
    this.#newer.add(file);
    const path = this.#disk.pathOf(file);
    const detail = `${path} was written by a newer Holdfast (${version}) and counts as absent: upgrade, or delete it`;
    this.#complaints.say({ kind: 'newer', file: path, code: null, detail }, path);
  }
}

/** In which it is. */
export function collectionOf(file: string): string {
  return file.slice(0, file.indexOf('/'));
}

/** Undefined if it has none. */
function versionIn(value: unknown): number | undefined {
  const { version } = isRecord(value) ? value : {};
  return typeof version === 'number' ? version : undefined;
}

function tooLarge({ maxBytes }: FileTooLarge): string {
  return `it has more than ${maxBytes} bytes`;
}
