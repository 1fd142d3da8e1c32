// A file of lines to which several processes append, and which is rotated when it is full. Every
// batch is one write to a file opened for appending, so the lines of two processes do not mix. In
// addition:
// - A line that a crash or a full disk left incomplete is cut off when the file is next opened, if
//   no process is writing at that moment; otherwise it is ended by a line break, and only that one
//   line is unreadable. Data that is not such a line is saved next to the file, and a file that is
//   not a log is moved aside.
// - One process at a time rotates, under a lock file that expires after ten seconds. Another
//   process that wrote at the same time finds its batch at the end of the previous file, and uses
//   the new file with its next batch. Each process may exceed the limit by one batch.
// Files are readable by this user only. Other files decide when and what to write, and handle
// failures.

import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '../kernel/clock.ts';
import { errnoOf } from '../kernel/errno.ts';
import { makePrivateFolder } from '../kernel/private-folder.ts';
import { isRubbish, lastLinesOf, type Tail, tailOf } from './log-tail.ts';

/** How much of a batch has reached the file, and the error that prevented the rest. */
export type Appended =
  | { readonly kind: 'all' }
  | {
      readonly kind: 'failed';
      readonly writtenBytes: number;
      readonly code: string;
      /** The file or folder that the error is about. */
      readonly file: string;
    };

/** Damage that was found in the file, and was handled. */
export type LogDamage =
  /**
   * It ended in an incomplete line, which is cut off, or saved there if it may be something else.
   */
  | { readonly kind: 'torn'; readonly cutBytes: number; readonly savedTo: string | null }
  /** So many of its last lines are unreadable; they are left in place. */
  | { readonly kind: 'unreadable'; readonly lines: number }
  | { readonly kind: 'no-log'; readonly movedTo: string };

export interface LogFile extends AsyncDisposable {
  readonly path: string;
  /** Appends whole lines. Never rejects because of the disk. */
  append(lines: Buffer): Promise<Appended>;
}

export interface LogFileOptions {
  readonly path: string;
  readonly maxBytes: number;
  readonly clock: Clock;
  /** Called before anything is done about it, so that no crash can come in between. */
  readonly onDamage: (damage: LogDamage) => void;
}

/** An incomplete line that does not grow for this long has lost its writer. */
const settleMs = 50;
const staleLockMs = 10_000;
const lineBreak = Buffer.from('\n');

export class RotatedFile implements LogFile {
  readonly path: string;
  readonly #maxBytes: number;
  readonly #clock: Clock;
  readonly #onDamage: (damage: LogDamage) => void;
  #handle: FileHandle | undefined;
  /** The file may end in an incomplete line: end it before the next one. */
  #isTorn = false;
  /** The existing lines have been checked. */
  #isChecked = false;

  constructor({ path, maxBytes, clock, onDamage }: LogFileOptions) {
    this.path = path;
    this.#maxBytes = maxBytes;
    this.#clock = clock;
    this.#onDamage = onDamage;
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
      // It is opened again the next time, which also repairs a line that was cut off in the middle.
      await this.#close();
      const writtenBytes = Math.max(0, written - lead);
      return { kind: 'failed', writtenBytes, code, file: troubledFile(error) ?? this.path };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }

  /** The current file at the path, with room for so many bytes. */
  async #openFor(bytes: number): Promise<FileHandle> {
    let handle = this.#handle ?? (await this.#open());
    let ours = await handle.stat();
    if (!(await this.#isCurrent(ours))) {
      handle = await this.#reopen();
      ours = await handle.stat();
    }
    const { size } = ours;
    if (size > 0 && size + bytes > this.#maxBytes && (await this.#rotate(handle))) {
      handle = await this.#reopen();
    }
    return handle;
  }

  async #open(): Promise<FileHandle> {
    await makePrivateFolder(dirname(this.path));
    await this.#mendTail();
    const flags = constants.O_CREAT | constants.O_APPEND | constants.O_WRONLY;
    this.#handle = await open(this.path, flags | careful, 0o600);
    return this.#handle;
  }

  async #reopen(): Promise<FileHandle> {
    await this.#close();
    return await this.#open();
  }

  async #close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    try {
      await handle?.close();
    } catch (error) {
      // Some file systems report a loss only at this point; the file is closed anyway.
      if (errnoOf(error) === undefined) throw error;
    }
  }

  /** False once another process has rotated the file, or it was deleted. */
  async #isCurrent(ours: Stats): Promise<boolean> {
    const there = await statOf(this.path);
    return there !== undefined && ours.ino === there.ino && ours.dev === there.dev;
  }

  async #mendTail(): Promise<void> {
    const handle = await unlessCode('ENOENT', open(this.path, constants.O_RDWR | careful));
    if (handle === undefined) return;
    try {
      const before = await tailOf(handle);
      const isLog = await this.#isLog(handle, before);
      if (before.isWhole || !isLog) return;
      await new Promise<void>((resolve) => void this.#clock.after(settleMs, resolve));
      const after = await tailOf(handle);
      this.#isTorn = !after.isWhole;
      if (after.isWhole || after.size !== before.size) return;
      await this.#cut(handle, after);
      this.#isTorn = false;
    } finally {
      await handle.close();
    }
  }

  /**
   * Checks once the lines of other processes: a file without a readable line is not a log, and is
   * moved aside.
   */
  async #isLog(handle: FileHandle, tail: Tail): Promise<boolean> {
    if (tail.isEndless) return await this.#setAside();
    if (this.#isChecked) return true;
    const { count, unreadable } = await lastLinesOf(handle, tail);
    this.#isChecked = true;
    if (unreadable === 0) return true;
    if (unreadable === count) return await this.#setAside();
    this.#onDamage({ kind: 'unreadable', lines: unreadable });
    return true;
  }

  /** It is not a log; false for the caller. */
  async #setAside(): Promise<false> {
    this.#onDamage({ kind: 'no-log', movedTo: this.#aside });
    await rename(this.path, this.#aside);
    return false;
  }

  async #cut(handle: FileHandle, tail: Tail): Promise<void> {
    const cutBytes = tail.size - tail.wholeBytes;
    const savedTo = (await isRubbish(handle, tail)) ? null : this.#aside;
    this.#onDamage({ kind: 'torn', cutBytes, savedTo });
    if (savedTo !== null) await copyEnd(handle, tail, savedTo);
    await handle.truncate(tail.wholeBytes);
  }

  get #aside(): string {
    return `${this.path}.damaged`;
  }

  /**
   * Renames the full file to the previous one. False when another process is doing it, or has done
   * it.
   */
  async #rotate(handle: FileHandle): Promise<boolean> {
    const lock = `${this.path}.lock`;
    const held = await unlessCode('EEXIST', open(lock, 'wx', 0o600));
    if (held === undefined) {
      const stats = await statOf(lock);
      // Its owner died. It is only removed here; the next process takes the lock.
      if (stats !== undefined && this.#clock.wallNow() - stats.mtimeMs > staleLockMs) {
        await rm(lock, { force: true });
      }
      return false;
    }
    try {
      await held.close();
      if (!(await this.#isCurrent(await handle.stat()))) return true;
      await rename(this.path, `${this.path}.1`);
      return true;
    } finally {
      await rm(lock, { force: true });
    }
  }
}

/**
 * Do not follow a symbolic link at this path, and do not block on a pipe. Windows has no such
 * flags.
 */
const careful = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** A file placed there by someone else may be larger than memory. */
const copyBytes = 1_048_576;

/** Copies the text after the last line break to a separate file. */
async function copyEnd(from: FileHandle, { wholeBytes, size }: Tail, to: string): Promise<void> {
  const flags = constants.O_CREAT | constants.O_TRUNC | constants.O_WRONLY | careful;
  const copy = await open(to, flags, 0o600);
  try {
    for (let at = wholeBytes; at < size; ) {
      const piece = Buffer.alloc(Math.min(copyBytes, size - at));
      const { bytesRead } = await from.read(piece, 0, piece.length, at);
      if (bytesRead === 0) break;
      await copy.writeFile(piece.subarray(0, bytesRead));
      at += bytesRead;
    }
    await copy.datasync();
  } finally {
    await copy.close();
  }
}

/**
 * Which file a system error is about, if it says so; a rename fails because of what is at its
 * target.
 */
function troubledFile(error: unknown): string | undefined {
  const { path, dest } = error as { readonly path?: string; readonly dest?: string };
  return dest ?? path;
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
