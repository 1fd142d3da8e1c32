// A file of lines to which several processes append, and which is rotated when it is full. Every batch is
// one write to a file opened for appending, so the lines of two processes do not mix. What holds besides:
// - A line that a crash or a full disk left unfinished is cut off when the file is next opened, if nobody
//   is writing at that moment; else it is closed by a line break, and only that one line is unreadable.
// - One process at a time rotates, under a lock file that counts for nothing once it is ten seconds old.
//   Another process that wrote in the same instant finds its batch at the end of the previous file, and
//   moves to the new one with its next batch. Each process may go over the limit by one batch.
// Files are for this user alone. When and what to write, and what to do about failures, is for others.

import { constants } from 'node:fs';
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '../kernel/clock.ts';
import { errnoOf } from '../kernel/errno.ts';
import { makePrivateFolder } from '../kernel/private-folder.ts';

/** How much of a batch has reached the file, and what kept the rest from it. */
export type Appended =
  | { readonly kind: 'all' }
  | { readonly kind: 'failed'; readonly writtenBytes: number; readonly code: string };

export interface LogFile extends AsyncDisposable {
  readonly path: string;
  /** Appends whole lines. Never rejects for what the disk does. */
  append(lines: Buffer): Promise<Appended>;
}

export interface LogFileOptions {
  readonly path: string;
  readonly maxBytes: number;
  readonly clock: Clock;
  /** An unfinished last line was found; so many bytes were cut. */
  readonly onTorn: (cutBytes: number) => void;
}

/** An unfinished line that does not grow for so long has lost its writer. */
const settleMs = 50;
const staleLockMs = 10_000;
const lineBreak = Buffer.from('\n');

export class RotatedFile implements LogFile {
  readonly path: string;
  readonly #maxBytes: number;
  readonly #clock: Clock;
  readonly #onTorn: (cutBytes: number) => void;
  #handle: FileHandle | undefined;
  /** The file may end in an unfinished line: close it before the next one. */
  #isTorn = false;

  constructor({ path, maxBytes, clock, onTorn }: LogFileOptions) {
    this.path = path;
    this.#maxBytes = maxBytes;
    this.#clock = clock;
    this.#onTorn = onTorn;
  }

  async append(lines: Buffer): Promise<Appended> {
    let written = 0;
    let lead = 0;
    try {
      const handle = await this.#openFor(lines.length);
      const bytes = this.#isTorn ? Buffer.concat([lineBreak, lines]) : lines;
      lead = bytes.length - lines.length;
      while (written < bytes.length) written += (await handle.write(bytes, written)).bytesWritten;
      this.#isTorn = false;
      return { kind: 'all' };
    } catch (error) {
      const code = errnoOf(error);
      if (code === undefined) throw error;
      // Opened anew the next time, which also mends a line that was cut off in the middle.
      await this.#close();
      return { kind: 'failed', writtenBytes: Math.max(0, written - lead), code };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }

  /** The file that stands at the path now, with room for so many bytes. */
  async #openFor(bytes: number): Promise<FileHandle> {
    let handle = this.#handle ?? (await this.#open());
    if (!(await this.#isCurrent(handle))) handle = await this.#reopen();
    const { size } = await handle.stat();
    if (size > 0 && size + bytes > this.#maxBytes && (await this.#rotate(handle))) {
      handle = await this.#reopen();
    }
    return handle;
  }

  async #open(): Promise<FileHandle> {
    await makePrivateFolder(dirname(this.path));
    await this.#mendTail();
    const flags = constants.O_CREAT | constants.O_APPEND | constants.O_WRONLY;
    this.#handle = await open(this.path, flags | noFollow, 0o600);
    return this.#handle;
  }

  async #reopen(): Promise<FileHandle> {
    await this.#close();
    return await this.#open();
  }

  async #close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }

  /** False once another process has rotated the file, or somebody has deleted it. */
  async #isCurrent(handle: FileHandle): Promise<boolean> {
    const [ours, there] = [await handle.stat(), await statOf(this.path)];
    return there !== undefined && ours.ino === there.ino && ours.dev === there.dev;
  }

  async #mendTail(): Promise<void> {
    const handle = await unlessCode('ENOENT', open(this.path, constants.O_RDWR | noFollow));
    if (handle === undefined) return;
    try {
      const before = await tailOf(handle);
      if (before.isWhole) return;
      await new Promise<void>((resolve) => void this.#clock.after(settleMs, resolve));
      const after = await tailOf(handle);
      this.#isTorn = !after.isWhole;
      if (after.isWhole || after.size !== before.size) return;
      await handle.truncate(after.wholeBytes);
      this.#isTorn = false;
      this.#onTorn(after.size - after.wholeBytes);
    } finally {
      await handle.close();
    }
  }

  /** Makes the full file the previous one. False when another process is at it, or has done it. */
  async #rotate(handle: FileHandle): Promise<boolean> {
    const lock = `${this.path}.lock`;
    const held = await unlessCode('EEXIST', open(lock, 'wx', 0o600));
    if (held === undefined) {
      const stats = await statOf(lock);
      // Its owner died. Only cleared away: whoever comes next takes it.
      if (stats !== undefined && this.#clock.wallNow() - stats.mtimeMs > staleLockMs) {
        await rm(lock, { force: true });
      }
      return false;
    }
    try {
      await held.close();
      if (!(await this.#isCurrent(handle))) return true;
      await rename(this.path, `${this.path}.1`);
      return true;
    } finally {
      await rm(lock, { force: true });
    }
  }
}

/** A link put in our place must not lead us elsewhere. Windows has no such flag. */
const noFollow = constants.O_NOFOLLOW ?? 0;

interface Tail {
  readonly size: number;
  /** Up to and with the last line break. */
  readonly wholeBytes: number;
  readonly isWhole: boolean;
}

async function tailOf(handle: FileHandle): Promise<Tail> {
  const { size } = await handle.stat();
  const chunk = Buffer.alloc(65_536);
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - chunk.length);
    const { bytesRead } = await handle.read(chunk, 0, end - start, start);
    const index = chunk.subarray(0, bytesRead).lastIndexOf(0x0a);
    if (index >= 0) {
      const wholeBytes = start + index + 1;
      return { size, wholeBytes, isWhole: wholeBytes === size };
    }
    end = start;
  }
  return { size, wholeBytes: 0, isWhole: size === 0 };
}

function statOf(path: string) {
  return unlessCode('ENOENT', stat(path));
}

async function unlessCode<T>(code: string, work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (errnoOf(error) === code) return undefined;
    throw error;
  }
}
