// The lock of an instance: of any number of processes that want it at once, one gets it, and it is free
// again when that process is gone, however it ended. Node has no file locks that the system releases, so
// the lock is a row of symbolic links, lock.1, lock.2 and so on: the highest number holds it, and says in
// its target who that is. Who finds that its holder is gone makes the next one, which only one process can.
// One is removed only by the holder of a higher one, so that the numbers never begin again: a process that
// has looked long ago cannot make one that counts. A link is there as a whole or not at all, and a short
// target needs no block of the disk: an instance can be started when the disk is full.

import { randomUUID } from 'node:crypto';
import { lstat, readdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { readOwnFile } from '../kernel/bounded-file.ts';
import { errnoOf } from '../kernel/errno.ts';
import { Fault } from '../kernel/fault.ts';
import { FileTooLarge } from '../kernel/file-too-large.ts';
import {
  endText,
  holderIn,
  holderText,
  type LockEnd,
  type LockHolder,
  textOfFile,
} from './lock-holder.ts';

export interface InstanceLock {
  /** What others read of the holder from now on. */
  tell(self: LockHolder): Promise<void>;
  /** For an orderly end: the next process need not find out that this one is gone. */
  release(end?: LockEnd): Promise<void>;
}

export type LockAttempt =
  | { readonly kind: 'taken'; readonly lock: InstanceLock }
  | { readonly kind: 'held'; readonly by: LockHolder };

/** `isHeld` says whether the process that a lock names still has it. */
export async function takeLock(
  folder: string,
  self: LockHolder,
  isHeld: (holder: LockHolder) => Promise<boolean>,
): Promise<LockAttempt> {
  for (;;) {
    const last = (await numbersIn(folder)).at(-1) ?? 0;
    const holder = last === 0 ? undefined : await holderOf(folder, last);
    if (holder === 'removed') continue;
    if (holder !== undefined && (await isHeld(holder))) return { kind: 'held', by: holder };
    const number = last + 1;
    if (number > highestNumber) {
      const told = `${fileOf(folder, last)} has the highest number that there is`;
      throw new Fault(
        'unavailable',
        `${told}; end Holdfast, and remove the files lock.* in its folder`,
      );
    }
    if (!(await makeFile(folder, number, self))) continue;
    const numbers = await numbersIn(folder);
    // Somebody else was so much faster that this number had been used and removed.
    if ((numbers.at(-1) ?? 0) > number) {
      await rm(fileOf(folder, number), { force: true });
      continue;
    }
    await tidy(folder, numbers, number, self.since);
    return { kind: 'taken', lock: lockOf(folder, number) };
  }
}

/** It has the lock whether that is possible or not. */
async function tidy(
  folder: string,
  numbers: readonly number[],
  own: number,
  now: number,
): Promise<void> {
  try {
    for (const lower of numbers) {
      if (lower < own) await rm(fileOf(folder, lower), { force: true });
    }
    await removeDrafts(folder, now);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  }
}

function lockOf(folder: string, number: number): InstanceLock {
  return {
    tell: (self) => rewrite(folder, number, holderText(self)),
    release: (end) => rewrite(folder, number, end === undefined ? released : endText(end)),
  };
}

/** It names nobody, and says no more. */
const released = 'released';

/** What the highest number says, empty if there is none, and since when. */
export interface LockState {
  readonly text: string;
  /** Wall time. */
  readonly writtenAt: number;
}

export async function lockState(folder: string): Promise<LockState> {
  const last = (await numbersIn(folder)).at(-1);
  if (last === undefined) return { text: '', writtenAt: 0 };
  const text = (await textOf(folder, last)) ?? '';
  const found = await lstat(fileOf(folder, last)).catch(ifAbsent(() => null));
  return { text, writtenAt: found?.mtimeMs ?? 0 };
}

const draftMs = 60_000;
const maxLockBytes = 4_096;
/** Of fifteen digits: those of sixteen are not looked for. */
const highestNumber = 999_999_999_999_999;

function fileOf(folder: string, number: number): string {
  return join(folder, `lock.${number}`);
}

/** The lowest first. */
async function numbersIn(folder: string): Promise<readonly number[]> {
  const names = await readdir(folder).catch(ifAbsent(() => []));
  return names
    .flatMap((name) => /^lock\.([1-9]\d{0,14})$/.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((one, other) => one - other);
}

async function holderOf(
  folder: string,
  number: number,
): Promise<LockHolder | undefined | 'removed'> {
  const text = await textOf(folder, number);
  return text === undefined ? 'removed' : holderIn(text);
}

/** Undefined if it was removed. */
async function textOf(folder: string, number: number): Promise<string | undefined> {
  try {
    return await readlink(fileOf(folder, number));
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT') return undefined;
    // Programs before 0.1.0 was given out wrote files: a holder of theirs counts, too.
    if (code === 'EINVAL') return await fileText(fileOf(folder, number));
    throw error;
  }
}

async function fileText(file: string): Promise<string | undefined> {
  try {
    return textOfFile((await readOwnFile(file, maxLockBytes)).toString('utf8'));
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT') return undefined;
    // A folder or something else has this name, and names nobody.
    if (code === 'EISDIR' || code === 'EAGAIN' || error instanceof FileTooLarge) return '';
    throw error;
  }
}

/** False if it exists. */
async function makeFile(folder: string, number: number, self: LockHolder): Promise<boolean> {
  try {
    await symlink(holderText(self), fileOf(folder, number));
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** It stays: its number must not be used again. If the disk refuses, the end of the process says the same. */
async function rewrite(folder: string, number: number, text: string): Promise<void> {
  try {
    const draft = join(folder, `lock-${randomUUID()}.tmp`);
    await symlink(text, draft);
    await rename(draft, fileOf(folder, number));
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  }
}

/** Those of processes that were killed; a living one uses its draft at once. */
async function removeDrafts(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith('lock-')) continue;
    const found = await lstat(join(folder, name)).catch(ifAbsent(() => null));
    if (found && found.mtimeMs < now - draftMs) await rm(join(folder, name), { force: true });
  }
}

function ifAbsent<T>(otherwise: () => T): (error: unknown) => T {
  return (error) => {
    if (errnoOf(error) === 'ENOENT') return otherwise();
    throw error;
  };
}
