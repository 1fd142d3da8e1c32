// Reads SQLite's write-ahead log before SQLite does, and looks for damage: SQLite takes everything up to
// the first frame whose checksum is wrong and ignores the rest without an error, so that committed changes
// would vanish silently. The format is that of https://www.sqlite.org/fileformat2.html#walformat.

import { commitNumberIn } from './commit-number.ts';

/**
 * `torn`: frames that belong to no whole change follow the last good one. A power cut leaves the last change
 * so, and a disk that fails leaves changes that were refused, of which any part may be missing. If one was
 * acknowledged all the same, the number of the last acknowledged commit shows it (`acknowledged.ts`).
 * `damaged`: the numbers in the frames say that more than one change is lost, and so that at least one of
 * them was acknowledged.
 */
export type WalState = 'good' | 'torn' | 'damaged';

const headerBytes = 32;
const frameHeaderBytes = 24;
const magicLittle = 0x37_7f_06_82;
const magicBig = 0x37_7f_06_83;

/** One page of a change. */
export interface WalFrame {
  readonly page: number;
  /** The last one of its change. */
  readonly isCommit: boolean;
  readonly content: Buffer;
  /** Where the next one begins. */
  readonly end: number;
}

export interface WalHeader {
  readonly frameBytes: number;
  /** Those that SQLite would read. */
  frames(): Iterable<WalFrame>;
}

export function walState(wal: Buffer): WalState {
  if (wal.length < headerBytes) return 'good';
  const header = headerOf(wal);
  // Nothing is acknowledged before the header is on the disk.
  if (header === undefined) return wal.length > headerBytes ? 'damaged' : 'torn';
  let end = headerBytes;
  let last: number | undefined;
  let seen: number | undefined;
  for (const frame of header.frames()) {
    end = frame.end;
    seen = commitNumberIn(frame.content) ?? seen;
    // The number may stand in an earlier frame of its change than the damage.
    if (frame.isCommit) last = seen;
  }
  return stateAfter(wal, end, header.frameBytes, { last, seen });
}

interface Numbers {
  /** Of the last whole change. */
  readonly last: number | undefined;
  /** In the good frames, of a change that may not be whole. */
  readonly seen: number | undefined;
}

/** What follows the last good frame: nothing, frames of an earlier use of the file, or ours. */
function stateAfter(
  wal: Buffer,
  end: number,
  frameBytes: number,
  { last, seen }: Numbers,
): WalState {
  let own = 0;
  let [lowest, highest] = [last ?? seen, seen];
  for (let at = end; at + frameHeaderBytes <= wal.length; at += frameBytes) {
    // If one byte of the salts is damaged, half of them is still right.
    if (!hasSalts(wal, at, 4) && !hasSalts(wal, at + 4, 4, 20)) continue;
    own += 1;
    const number = commitNumberIn(wal.subarray(at + frameHeaderBytes, at + frameBytes));
    if (number === undefined) continue;
    lowest = Math.min(lowest ?? number, number);
    highest = Math.max(highest ?? number, number);
  }
  if (own === 0) return 'good';
  // A number is used again until a commit with it has succeeded. So if there is one after the next, the next
  // was acknowledged. Without a good change in the log, the lowest is the next.
  const next = last === undefined ? lowest : last + 1;
  const isLost = next !== undefined && highest !== undefined && highest > next;
  return isLost ? 'damaged' : 'torn';
}

/** Whether the frame has the salts of the header, or the given half of them. */
function hasSalts(wal: Buffer, frame: number, bytes: 4 | 8, inHeader = 16): boolean {
  return wal.compare(wal, inHeader, inHeader + bytes, frame + 8, frame + 8 + bytes) === 0;
}

/** Undefined if it is not one. */
export function headerOf(wal: Buffer): WalHeader | undefined {
  if (wal.length < headerBytes) return undefined;
  const magic = wal.readUInt32BE(0);
  if (magic !== magicLittle && magic !== magicBig) return undefined;
  const isBig = magic === magicBig;
  const sums = checksum(wal, 0, 24, [0, 0], isBig);
  if (wal.readUInt32BE(24) !== sums[0] || wal.readUInt32BE(28) !== sums[1]) return undefined;
  const pageBytes = wal.readUInt32BE(8);
  return {
    frameBytes: pageBytes + frameHeaderBytes,
    frames: () => framesOf(wal, pageBytes, sums, isBig),
  };
}

function* framesOf(wal: Buffer, pageBytes: number, first: Sums, isBig: boolean) {
  let sums = first;
  const frameBytes = pageBytes + frameHeaderBytes;
  for (let at = headerBytes; at + frameBytes <= wal.length; at += frameBytes) {
    if (!hasSalts(wal, at, 8)) return;
    const before = checksum(wal, at, 8, sums, isBig);
    const after = checksum(wal, at + frameHeaderBytes, pageBytes, before, isBig);
    if (wal.readUInt32BE(at + 16) !== after[0] || wal.readUInt32BE(at + 20) !== after[1]) return;
    sums = after;
    yield {
      page: wal.readUInt32BE(at),
      isCommit: wal.readUInt32BE(at + 4) !== 0,
      content: wal.subarray(at + frameHeaderBytes, at + frameBytes),
      end: at + frameBytes,
    };
  }
}

type Sums = readonly [number, number];

function checksum(bytes: Buffer, from: number, length: number, sums: Sums, isBig: boolean): Sums {
  let [first, second] = sums;
  for (let at = from; at < from + length; at += 8) {
    const one = isBig ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at);
    const other = isBig ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4);
    first = (first + one + second) >>> 0;
    second = (second + other + first) >>> 0;
  }
  return [first, second];
}
