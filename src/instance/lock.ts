// The lock of an instance: of any number of processes that want it at once, one gets it, and it is free
// again when that process is gone, however it ended. Node has no file locks that the system releases, so
// the lock is a row of files, lock.1, lock.2 and so on: the highest number holds it. Who finds that its
// holder is gone makes the next one, which only one process can. A file is removed only by the holder of
// a higher one, so that the numbers never begin again: a process that has looked long ago cannot make a
// file that counts.

import { randomUUID } from 'node:crypto';
import { link, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf } from '../kernel/errno.ts';
import { holderIn, type LockHolder } from './lock-holder.ts';

export interface InstanceLock {
  /** For an orderly end: the next process need not find out that this one is gone. */
  release(): Promise<void>;
}

export type LockAttempt =
  | { readonly kind: 'taken'; readonly lock: InstanceLock }
  | { readonly kind: 'held'; readonly by: LockHolder };

/** `isHeld` says whether the process in a lock file still has it. */
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
    if (!(await makeFile(folder, number, self))) continue;
    const numbers = await numbersIn(folder);
    // Somebody else was so much faster that this number had been used and removed.
    if ((numbers.at(-1) ?? 0) > number) {
      await rm(fileOf(folder, number), { force: true });
      continue;
    }
    for (const lower of numbers) {
      if (lower < number) await rm(fileOf(folder, lower), { force: true });
    }
    await removeDrafts(folder, self.since);
    return { kind: 'taken', lock: { release: () => release(folder, number) } };
  }
}

const draftMs = 60_000;

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
  const text = await readFile(fileOf(folder, number), 'utf8').catch(ifAbsent(() => null));
  return text === null ? 'removed' : holderIn(text);
}

/** False if it exists. It has its whole content from the first instant. */
async function makeFile(folder: string, number: number, self: LockHolder): Promise<boolean> {
  const draft = await drafted(folder, JSON.stringify(self));
  try {
    await link(draft, fileOf(folder, number));
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** The file stays: its number must not be used again. If the disk refuses, the end of the process says the same. */
async function release(folder: string, number: number): Promise<void> {
  try {
    const draft = await drafted(folder, '');
    await rename(draft, fileOf(folder, number));
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  }
}

async function drafted(folder: string, text: string): Promise<string> {
  const draft = join(folder, `lock-${randomUUID()}.tmp`);
  await writeFile(draft, text, { mode: 0o600, flag: 'wx' });
  return draft;
}

/** Those of processes that were killed; a living one uses its draft at once. */
async function removeDrafts(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith('lock-')) continue;
    const found = await stat(join(folder, name)).catch(ifAbsent(() => null));
    if (found && found.mtimeMs < now - draftMs) await rm(join(folder, name), { force: true });
  }
}

function ifAbsent<T>(otherwise: () => T): (error: unknown) => T {
  return (error) => {
    if (errnoOf(error) === 'ENOENT') return otherwise();
    throw error;
  };
}
