// One track of the audit log as its only writer sees it: the open file and the end of the chain. The chain
// advances only with what is completely in the file: after an error the file is cut back to where it was
// and opened anew, and what it really ends with counts. An unfinished line, which a crash or a full disk
// leaves, is cut off, and the next line of a start says so. A file that has shrunk or was replaced while
// it was open is noted in the log as well.

import type { Clock } from '../kernel/clock.ts';
import { ignored } from '../kernel/contain.ts';
import { errnoOf } from '../kernel/errno.ts';
import type { AuditDisk, AuditFile } from './audit-disk.ts';
import {
  type ChainEnd,
  chainBegin,
  hashOf,
  lineVersion,
  maxLineBytes,
  nextLine,
  readLine,
} from './audit-line.ts';
import type { AuditRecord, StartRecord } from './audit-record.ts';
import { fileFrom, filesOf, maxFileBytes } from './track-files.ts';

/** The track cannot be continued; another one is used. */
export class DamagedTrack extends Error {
  constructor(path: string, why = 'does not end in a line of the audit log of this version') {
    super(`${path} ${why}`);
  }
}

/** Somebody has taken the file away in the moment in which it was written: what it has does not count. */
export class MovedFile extends Error {}

export interface TrackParts {
  readonly disk: AuditDisk;
  readonly folder: string;
  readonly clock: Clock;
  readonly key: Buffer | null;
  /** The start line of this process, without what the track adds to it. */
  readonly start: Omit<StartRecord, 'kind' | 'at' | 'cut' | 'file'>;
  readonly maxFileBytes?: number;
  /** Lines that this process had written are not there any more. */
  readonly gapFound?: (told: string) => void;
}

interface OpenFile {
  readonly file: AuditFile;
  /** The number of its first line. */
  readonly first: number;
  size: number;
}

export class Track {
  readonly #parts: TrackParts;
  #end: ChainEnd = chainBegin;
  #open: OpenFile | undefined;
  #hasStarted = false;
  #cut: StartRecord['cut'];

  private constructor(parts: TrackParts) {
    this.#parts = parts;
  }

  /** Throws `DamagedTrack` if its end cannot be read. Nothing is written yet. */
  static async open(parts: TrackParts): Promise<Track> {
    const track = new Track(parts);
    await track.#reopen();
    return track;
  }

  /** Resolves when the records are in the file; and on the disk, if that is asked for. */
  async append(records: readonly AuditRecord[], isSynced: boolean): Promise<void> {
    if (this.#open && !(await this.#open.file.isAsLeft(this.#open.size))) await this.#close();
    const had = this.#end;
    const written = await this.#withRoom(this.#open ?? (await this.#reopen()));
    const hasGap = this.#hasStarted && this.#end.n < had.n;
    const { bytes, end } = this.#lines([...this.#lead(written, had), ...records]);
    try {
      await written.file.append(bytes);
      if (isSynced) await written.file.sync();
      if (isSynced && !(await written.file.isInPlace())) throw new MovedFile(moved);
    } catch (error) {
      // The error is what its caller wants to know; what the file is like is seen when it is opened.
      await written.file.cut(written.size).catch(ignored);
      await this.#close();
      throw error;
    }
    written.size += bytes.length;
    this.#end = end;
    this.#hasStarted = true;
    this.#cut = undefined;
    if (hasGap) this.#parts.gapFound?.(this.#gapText(had));
  }

  #gapText({ n }: ChainEnd): string {
    const { folder } = this.#parts;
    return `lines of the audit log up to number ${n} are not in ${folder} any more: its newest file was moved, removed or cut while it was written; the log goes on and says so, and the newest file must stay in its place`;
  }

  /** With a last line, if anything was written. */
  async close(last: AuditRecord): Promise<void> {
    try {
      if (this.#hasStarted) await this.append([last], true);
    } finally {
      await this.#close();
    }
  }

  /** What has to be said before the next record. */
  #lead({ size, first }: OpenFile, had: ChainEnd): readonly AuditRecord[] {
    const { start, clock } = this.#parts;
    const at = clock.wallNow();
    if (!this.#hasStarted) {
      const cut = this.#cut && { cut: this.#cut };
      return [{ kind: 'start', at, ...start, file: first, ...cut }];
    }
    const lead: AuditRecord[] = [];
    const { process, config, track } = start;
    if (size === 0) lead.push({ kind: 'more', at, process, config, track, file: first });
    if (this.#end.n < had.n) lead.push({ kind: 'gap', at, had: had.n });
    return lead;
  }

  #lines(records: readonly AuditRecord[]): { readonly bytes: Buffer; readonly end: ChainEnd } {
    const lines: string[] = [];
    let end = this.#end;
    for (const record of records) {
      const next = nextLine(end, record, this.#parts.key);
      lines.push(next.line);
      end = next.end;
    }
    return { bytes: Buffer.from(lines.join('')), end };
  }

  /** A further file, if this one is full. */
  async #withRoom(open: OpenFile): Promise<OpenFile> {
    if (open.size < (this.#parts.maxFileBytes ?? maxFileBytes)) return open;
    await open.file.sync();
    await this.#close();
    return await this.#openFile(this.#end.n + 1, 0);
  }

  async #openFile(first: number, size: number): Promise<OpenFile> {
    const { disk, folder } = this.#parts;
    const opened = { file: await disk.open(fileFrom(folder, first).path), first, size };
    this.#open = opened;
    return opened;
  }

  async #close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    // Some file systems report a loss only here; what is in the file is seen when it is opened again.
    await open?.file.close().catch(ignored);
  }

  /** Finds out where the chain ends, and cuts off what is no whole line. */
  async #reopen(): Promise<OpenFile> {
    const { disk, folder } = this.#parts;
    const newest = (await filesOf(disk, folder)).at(-1);
    if (newest === undefined) {
      this.#end = chainBegin;
      return await this.#openFile(1, 0);
    }
    const { size, end } = await disk.readEnd(newest.path, 2 * maxLineBytes);
    const wholeBytes = size - end.length + end.lastIndexOf(0x0a) + 1;
    const rest = end.subarray(end.lastIndexOf(0x0a) + 1);
    const isEmpty = size === rest.length;
    const last = isEmpty ? undefined : lastLine(end);
    if (!isEmpty && last === undefined) throw new DamagedTrack(newest.path);
    if (isEmpty && newest.first > 1) await this.#endBefore(newest.first);
    else this.#end = last ?? chainBegin;
    const open = await this.#openFile(newest.first, wholeBytes);
    if (rest.length === 0) return open;
    const cut = { bytes: rest.length, hash: hashOf(rest) };
    try {
      await open.file.cut(wholeBytes);
    } catch (error) {
      await this.#close();
      throw errnoOf(error) === 'EPERM' ? new DamagedTrack(newest.path, uncut) : error;
    }
    if (!this.#hasStarted) this.#cut = cut;
    return open;
  }

  /** A file was begun and has no line yet: the chain ends in the one before. */
  async #endBefore(first: number): Promise<void> {
    const { disk, folder } = this.#parts;
    const before = (await filesOf(disk, folder)).at(-2);
    const end = before && lastLine((await disk.readEnd(before.path, 2 * maxLineBytes)).end);
    if (end?.n !== first - 1) throw new DamagedTrack(fileFrom(folder, first).path);
    this.#end = end;
  }
}

/** Not even its owner may: a file that only can be appended to is the one case of it. */
const uncut =
  'ends in an unfinished line that cannot be cut off (EPERM), because the file can only be appended to (chattr +a)';

const moved = 'its newest file was moved away or removed while it was written; put it back';

/** The last whole line; undefined if it is not one that this program can continue. */
function lastLine(bytes: Buffer): ChainEnd | undefined {
  const end = bytes.lastIndexOf(0x0a);
  if (end < 0) return undefined;
  const line = readLine(bytes.subarray(bytes.lastIndexOf(0x0a, end - 1) + 1, end));
  return line && line.version <= lineVersion ? { n: line.n, hash: line.hash } : undefined;
}

/** Where the chain of a track ends now; undefined if it has no line that can be read. */
export async function endOfTrack(disk: AuditDisk, folder: string): Promise<ChainEnd | undefined> {
  const newest = (await filesOf(disk, folder)).at(-1);
  return newest && lastLine((await disk.readEnd(newest.path, 2 * maxLineBytes)).end);
}
