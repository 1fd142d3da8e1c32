// Examines the end of a file of lines after a crash: whether its last line is complete, what the
// incomplete rest is, and whether the lines before it can be read. It changes nothing. Only the
// possible result of a crash may be discarded: the beginning of one line, or the zeros that a power
// cut leaves in its place.

import type { FileHandle } from 'node:fs/promises';
import { maxLineBytes } from './event-line.ts';

/**
 * A crash leaves one incomplete line, or zeros in place of the last write: never as much as this.
 */
const longestTail = 1_048_576;

export interface Tail {
  readonly size: number;
  /** Up to and with the last line break. */
  readonly wholeBytes: number;
  readonly isWhole: boolean;
  /** There is no line near its end: it is not a log of ours, and is not read any further. */
  readonly isEndless: boolean;
}

const chunkBytes = 65_536;

export async function tailOf(handle: FileHandle): Promise<Tail> {
  const { size } = await handle.stat();
  const from = Math.max(0, size - longestTail);
  const wholeBytes = (await lastPlace(handle, from, size, (chunk) => chunk.lastIndexOf(0x0a))) + 1;
  const isEndless = from > 0 && wholeBytes === from;
  return { size, wholeBytes, isWhole: wholeBytes === size, isEndless };
}

/** Whether the text after the last line break may be discarded. */
export async function isRubbish(handle: FileHandle, tail: Tail): Promise<boolean> {
  const { wholeBytes, size } = tail;
  const isNotZero = (chunk: Buffer) => chunk.findLastIndex((byte) => byte !== 0);
  const bytes = (await lastPlace(handle, wholeBytes, size, isNotZero)) + 1 - wholeBytes;
  if (bytes === 0) return true;
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, wholeBytes);
  return bytes <= maxLineBytes && buffer[0] === '{'.charCodeAt(0);
}

export interface LastLines {
  readonly count: number;
  readonly unreadable: number;
}

/** The last complete lines, as many as are read at once. */
export async function lastLinesOf(handle: FileHandle, { wholeBytes }: Tail): Promise<LastLines> {
  const start = Math.max(0, wholeBytes - chunkBytes);
  const chunk = await chunkOf(handle, start, wholeBytes);
  const lines = chunk
    .toString('utf8')
    .split('\n')
    .slice(start === 0 ? 0 : 1, -1);
  return { count: lines.length, unreadable: lines.filter((line) => !isObject(line)).length };
}

function isObject(line: string): boolean {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null;
  } catch {
    return false;
  }
}

/** The last position that `find` finds in a part of the file, or the one before the part. */
async function lastPlace(
  handle: FileHandle,
  from: number,
  to: number,
  find: (chunk: Buffer) => number,
): Promise<number> {
  for (let end = to; end > from; ) {
    const start = Math.max(from, end - chunkBytes);
    const index = find(await chunkOf(handle, start, end));
    if (index >= 0) return start + index;
    end = start;
  }
  return from - 1;
}

async function chunkOf(handle: FileHandle, start: number, end: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(end - start), 0, end - start, start);
  return buffer.subarray(0, bytesRead);
}
