// The files of a database, before anybody opens them: each has to be a file of this user that others cannot
// change, and what is written beside the database is never written through a link.

import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  lstatSync,
  openSync,
  rmSync,
  type Stats,
} from 'node:fs';
import { basename } from 'node:path';
import { errnoOf } from '../../kernel/errno.ts';
import { fileFlaw } from '../../kernel/own-file.ts';
import { OpenError } from './open-error.ts';
import { messageOf } from './sqlite-code.ts';

/** All that SQLite opens by itself: it follows links, waits for pipes, and does not check what it reads. */
export function assertOwnFiles(file: string): void {
  for (const one of [file, `${file}-wal`, `${file}-shm`, `${file}-journal`]) {
    const found = lstat(one);
    const flaw = found && fileFlaw(found);
    if (flaw !== undefined) throw new OpenError('unsafe', `${basename(one)} ${flaw}`);
  }
}

function lstat(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw new OpenError('unusable', messageOf(error), errnoOf(error) ?? null);
  }
}

export function asideOf(file: string): string {
  return `${file}.damaged`;
}

/** Never through a link that has its name; on the disk when it returns, because the log is begun anew afterwards. */
export function copyAside(wal: string): void {
  const aside = asideOf(wal);
  try {
    rmSync(aside, { force: true });
    copyFileSync(wal, aside, constants.COPYFILE_EXCL);
    forceIfThere(aside);
  } catch (error) {
    throw new OpenError('unusable', messageOf(error), errnoOf(error) ?? null);
  }
}

/** Forces a file of this database to the disk. */
export function forceIfThere(file: string): void {
  if (!existsSync(file)) return;
  const handle = openSync(file, 'r+');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Whatever it is: a link that leads nowhere has the name, too. */
export function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
