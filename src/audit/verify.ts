// Checks every file of an audit log: each line has the number after the one before, the hash of the line
// before, and a MAC that belongs to its bytes; each file begins where its name says; each track still has
// what other tracks have written down of it. Of each track the first fault is reported, because what comes
// after it proves nothing. What cannot be seen: lines that were removed from the end of a track, back to a
// line break, before anything else has noted them. Whole files that are missing at its beginning, which an
// operator may have archived, are no fault; but the log is not complete then.

import { dirname, join } from 'node:path';
import { errnoOf } from '../kernel/errno.ts';
import { FileTooLarge } from '../kernel/file-too-large.ts';
import { isRecord } from '../kernel/json-values.ts';
import type { AuditDisk } from './audit-disk.ts';
import { type ChainEnd, chainBegin, hasMac, keyName, lineVersion, readLine } from './audit-line.ts';
import {
  configOf,
  filesOf,
  linesIn,
  maxReadBytes,
  type TrackFile,
  tracksIn,
} from './track-files.ts';

export interface AuditFault {
  readonly file: string;
  /** In the file, from 1; null: it is about the file as a whole. */
  readonly line: number | null;
  readonly text: string;
}

export interface VerifiedTrack {
  readonly track: string;
  readonly files: number;
  readonly lines: number;
  /** The number of its first line that is there; lines before it were removed with their files. */
  readonly first: number;
  /** Processes that have written it. */
  readonly starts: number;
  /** Unfinished lines that starts have cut off. */
  readonly cuts: number;
  /** Records that could not be written, as the log says itself. */
  readonly lost: number;
  /** Calls that have no `end`: under way, or lost with their process. */
  readonly unfinished: number;
  /** Its last line is not that of an orderly end: the process runs, or was killed, or lines were removed. */
  readonly isOpen: boolean;
  /** It begins with its first line: no file was removed from its beginning. */
  readonly isComplete: boolean;
  /** Whether its lines have a MAC that only the key makes. */
  readonly isKeyed: boolean;
}

export interface Verified {
  readonly tracks: readonly VerifiedTrack[];
  readonly faults: readonly AuditFault[];
}

/** `key`: null if there is none. A log that is being written may need a second look. */
export async function verifyAudit(
  disk: AuditDisk,
  folder: string,
  key: Buffer | null,
): Promise<Verified> {
  const first = await verifyOnce(disk, folder, key);
  return first.faults.length === 0 ? first : await verifyOnce(disk, folder, key);
}

async function verifyOnce(disk: AuditDisk, folder: string, key: Buffer | null): Promise<Verified> {
  const faults: AuditFault[] = [];
  const tracks: TrackCheck[] = [];
  for (const name of await tracksIn(disk, folder)) {
    const check = new TrackCheck(disk, join(folder, name), name, key);
    const fault = await check.run();
    tracks.push(check);
    if (fault) faults.push(fault);
  }
  const missed = await missingEnds(disk, folder, tracks);
  return { tracks: tracks.map((check) => check.result), faults: [...faults, ...missed] };
}

class Found extends Error {
  readonly fault: AuditFault;

  constructor(fault: AuditFault) {
    super(fault.text);
    this.fault = fault;
  }
}

class TrackCheck {
  readonly name: string;
  readonly #disk: AuditDisk;
  readonly #folder: string;
  readonly #key: Buffer | null;
  #end: ChainEnd = chainBegin;
  #lastKind: unknown = null;
  #isFirstLine = true;
  #counts = { files: 0, lines: 0, first: 1, starts: 0, cuts: 0, lost: 0 };
  /** Calls that have begun and not ended; no more than the log has. */
  readonly #begun = new Set<unknown>();
  /** By track, the latest end that this one knows of; one for each track. */
  readonly ends = new Map<string, ChainEnd & { readonly by: AuditFault }>();

  constructor(disk: AuditDisk, folder: string, name: string, key: Buffer | null) {
    this.#disk = disk;
    this.#folder = folder;
    this.name = name;
    this.#key = key;
  }

  get result(): VerifiedTrack {
    return {
      track: this.name,
      ...this.#counts,
      unfinished: this.#begun.size,
      isOpen: this.#lastKind !== 'stop',
      isComplete: this.#counts.first === 1,
      isKeyed: this.#key !== null,
    };
  }

  async run(): Promise<AuditFault | undefined> {
    try {
      const files = await filesOf(this.#disk, this.#folder);
      for (const file of files) await this.#checkFile(file, file === files.at(-1));
      return undefined;
    } catch (error) {
      if (error instanceof Found) return error.fault;
      throw error;
    }
  }

  async #checkFile(file: TrackFile, isLast: boolean): Promise<void> {
    const { path, first } = file;
    const bytes = await bytesOf(this.#disk, path);
    const { lines, rest } = linesIn(bytes);
    // A file that was begun and got no line, because the disk was full.
    if (lines.length === 0 && rest.length === 0) return;
    if (this.#isFirstLine && first > 1) {
      this.#counts.first = first;
      this.#end = { n: first - 1, hash: '' };
    } else if (first !== this.#end.n + 1) {
      throw new Found({ file: path, line: null, text: missing(this.#end.n + 1, first - 1) });
    }
    this.#counts.files += 1;
    for (const [index, line] of lines.entries()) this.#checkLine(file, index, line);
    if (rest.length === 0) return;
    const cause = isLast
      ? 'its process was killed or the disk was full, or it was cut; the next process that writes here cuts it off and notes that'
      : 'it was cut';
    const text = `the last line is not complete (${rest.length} bytes): ${cause}`;
    throw new Found({ file: path, line: lines.length + 1, text });
  }

  #checkLine({ path, first }: TrackFile, index: number, bytes: Buffer): void {
    const fail = (text: string) => {
      throw new Found({ file: path, line: index + 1, text });
    };
    const line = readLine(bytes);
    const version = newerVersion(bytes);
    if (version !== undefined) {
      return fail(`written by a newer version of Holdfast (format ${version}): use that version`);
    }
    if (line === undefined) return fail('changed: it is not a line of the audit log');
    const { n, prev, hash, members } = line;
    const expected = this.#end.n + 1;
    if (n > expected) return fail(missing(expected, n - 1));
    if (n < expected) {
      return fail(`inserted or moved: it has the number ${n}, and ${expected} comes here`);
    }
    if (!hasMac(bytes, this.#key)) return fail(this.#macFault(bytes, members));
    if (this.#end.hash !== '' && prev !== this.#end.hash) {
      return fail('the line before it is not the one that was written there');
    }
    const { kind } = members;
    const misplaced = this.#misplaced(members, first, n);
    if (misplaced !== undefined) return fail(misplaced);
    if (index === 0 && kind !== 'start' && kind !== 'more') {
      return fail('lines before it are missing: a file begins with the line of a start');
    }
    if (kind === 'gap') {
      return fail(`lines up to ${String(members['had'])} were written here and removed afterwards`);
    }
    this.#isFirstLine = false;
    this.#end = { n, hash };
    this.#lastKind = kind;
    this.#count(members, { file: path, line: index + 1, text: '' });
  }

  /** Of a line that says where it was written: why that is not here. */
  #misplaced(
    { config, track, file }: Readonly<Record<string, unknown>>,
    first: number,
    n: number,
  ): string | undefined {
    if (typeof track === 'string' && track !== this.name) {
      return `written in track ${track}: the track was copied or renamed`;
    }
    const own = configOf(dirname(this.#folder));
    if (typeof config === 'string' && config !== own) {
      return `written for another config, in the folder ${config}: the track was copied from there`;
    }
    if (typeof file !== 'number' || file === first) return undefined;
    const told = `written in a file that begins with line ${file}, and this one begins with ${first}`;
    return file < first && n >= first ? `${missing(file, first - 1)}: ${told}` : told;
  }

  #macFault(bytes: Buffer, members: Readonly<Record<string, unknown>>): string {
    if (this.#key === null) {
      const isSigned = members['kind'] === 'start' && typeof members['key'] === 'string';
      return isSigned
        ? 'written with a key, and there is none to check it with: set keyFile, or put the key file back'
        : 'changed';
    }
    if (hasMac(bytes, null))
      return 'not written with the key of this config: forged, or written without a key';
    const isOther = members['kind'] === 'start' && members['key'] !== keyName(this.#key);
    return isOther ? 'written with another key: changed, or the key file was replaced' : 'changed';
  }

  #count(members: Readonly<Record<string, unknown>>, place: AuditFault): void {
    const counts = this.#counts;
    counts.lines += 1;
    switch (members['kind']) {
      case 'start':
        counts.starts += 1;
        if (members['cut'] !== undefined) counts.cuts += 1;
        this.#noteEnds(members['others'], place);
        break;
      case 'begin':
        this.#begun.add(members['id']);
        break;
      case 'end':
        this.#begun.delete(members['id']);
        break;
      case 'lost':
        counts.lost += Number(members['records']) || 0;
        break;
    }
  }

  #noteEnds(others: unknown, by: AuditFault): void {
    for (const other of Array.isArray(others) ? others : []) {
      if (!isRecord(other)) continue;
      const { track, n, hash } = other;
      if (typeof track !== 'string' || typeof n !== 'number' || typeof hash !== 'string') continue;
      if ((this.ends.get(track)?.n ?? 0) < n) this.ends.set(track, { n, hash, by });
    }
  }
}

/** Recognised even if the rest of the line has another form. */
function newerVersion(bytes: Buffer): number | undefined {
  const version = /^\{"v":(\d{1,9}),/.exec(bytes.subarray(0, 16).toString('latin1'))?.[1];
  return Number(version) > lineVersion ? Number(version) : undefined;
}

function missing(from: number, to: number): string {
  return from === to
    ? `line ${from} is missing before it`
    : `lines ${from} to ${to} are missing before it`;
}

async function bytesOf(disk: AuditDisk, file: string): Promise<Buffer> {
  try {
    return await disk.read(file, maxReadBytes);
  } catch (error) {
    const code = errnoOf(error);
    const isTooLarge = error instanceof FileTooLarge;
    if (code === undefined && !isTooLarge) throw error;
    const text = isTooLarge ? 'larger than any file of the audit log' : `cannot be read (${code})`;
    throw new Found({ file, line: null, text });
  }
}

/** What one track has noted of another must still be there. */
async function missingEnds(
  disk: AuditDisk,
  folder: string,
  tracks: readonly TrackCheck[],
): Promise<readonly AuditFault[]> {
  const faults: AuditFault[] = [];
  for (const { ends } of tracks) {
    for (const [track, { n, hash, by }] of ends) {
      const found = await hashAt(disk, join(folder, track), n);
      if (found === hash || found === 'archived') continue;
      const text = `notes that track ${track} has a line ${n}, which is not there any more: lines were removed from its end`;
      faults.push({ ...by, text });
    }
  }
  return faults;
}

/** `archived`: it was in a file before those that are there. */
async function hashAt(disk: AuditDisk, folder: string, n: number): Promise<string | undefined> {
  const files = await filesOf(disk, folder);
  const [oldest] = files;
  if (oldest && oldest.first > n) return 'archived';
  const file = files.filter(({ first }) => first <= n).at(-1);
  if (file === undefined) return undefined;
  try {
    const line = linesIn(await disk.read(file.path, maxReadBytes)).lines[n - file.first];
    return line && readLine(line)?.hash;
  } catch (error) {
    // It is reported by the check of its own track.
    if (errnoOf(error) !== undefined || error instanceof FileTooLarge) return undefined;
    throw error;
  }
}
