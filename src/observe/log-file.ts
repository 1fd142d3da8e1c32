// A file of lines to which several processes append, and which is rotated when it is full. Every batch is
// one write to a file opened for appending, so the lines of two processes do not mix. What holds besides:
// - A line that a crash or a full disk left unfinished is cut off when the file is next opened, if nobody
//   is writing at that moment; else it is closed by a line break, and only that one line is unreadable.
//   What is no such line is not thrown away but saved beside the file, and a file that is no log at all
//   is moved aside.
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
import { isRubbish, lastLinesOf, type Tail, tailOf } from './log-tail.ts';

/** How much of a batch has reached the file, and what kept the rest from it. */
export type Appended =
  | { readonly kind: 'all' }
  | {
      readonly kind: 'failed';
      readonly writtenBytes: number;
      readonly code: string;
      /** The file or folder that is the trouble. */
      readonly file: string;
    };

/** What was found wrong with the file, and was dealt with. */
export type LogDamage =
  /** It ended in an unfinished line, which is cut off, or saved there if it may be something else. */
  | { readonly kind: 'torn'; readonly cutBytes: number; readonly savedTo: string | null }
  /** So many of its last lines say nothing; they are left where they are. */
  | { readonly kind: 'unreadable'; readonly lines: number }
  | { readonly kind: 'no-log'; readonly movedTo: string };

export interface LogFile extends AsyncDisposable {
  readonly path: string;
  /** Appends whole lines. Never rejects for what the disk does. */
  append(lines: Buffer): Promise<Appended>;
}

export interface LogFileOptions {
  readonly path: string;
  readonly maxBytes: number;
  readonly clock: Clock;
  /** Told before anything is done about it, so that no crash can come in between. */
  readonly onDamage: (damage: LogDamage) => void;
}

/** An unfinished line that does not grow for so long has lost its writer. */
const settleMs = 50;
const staleLockMs = 10_000;
const lineBreak = Buffer.from('\n');

export class RotatedFile implements LogFile {
  readonly path: string;
  readonly #maxBytes: number;
  readonly #clock: Clock;
  readonly #onDamage: (damage: LogDamage) => void;
  #handle: FileHandle | undefined;
  /** The file may end in an unfinished line: close it before the next one. */
  #isTorn = false;
  /** The lines that were there before us have been looked at. */
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
      // Opened anew the next time, which also mends a line that was cut off in the middle.
      await this.#close();
      const writtenBytes = Math.max(0, written - lead);
      return { kind: 'failed', writtenBytes, code, file: troubledFile(error) ?? this.path };
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
      // Some file systems tell only now that they lost something; the file is closed all the same.
      if (errnoOf(error) === undefined) throw error;
    }
  }

  /** False once another process has rotated the file, or somebody has deleted it. */
  async #isCurrent(handle: FileHandle): Promise<boolean> {
    const [ours, there] = [await handle.stat(), await statOf(this.path)];
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

  /** Looks once at the lines of others: a file in which none can be read is no log, and moved aside. */
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

  /** It is no log; false, for whoever asked. */
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

/** A link put in our place must not lead us elsewhere, nor a pipe make us wait. Windows has no such flags. */
const careful = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** What somebody put there may be larger than memory. */
const copyBytes = 1_048_576;

/** Copies what stands behind the last line break to a file of its own. */
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

/** Which file a system error is about, if it says so; a rename fails for what has its target's place. */
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
