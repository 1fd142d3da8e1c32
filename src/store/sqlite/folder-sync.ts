// Forces the names of a database's files, and of its folders, to the disk. SQLite does it for the folder of
// the files and does not look whether it has succeeded: then a power cut may take the log with everything
// that was acknowledged. It does nothing for the folders above, which may have just been made.

import { closeSync, fsyncSync, lstatSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf } from '../../kernel/errno.ts';

/** `isFirst`: also the folders above, once. Throws what the system says. Windows neither offers nor needs it. */
export function syncFoldersOf(file: string, isFirst: boolean): void {
  if (process.platform === 'win32') return;
  let folder = dirname(file);
  sync(folder);
  if (!isFirst) return;
  // Folders that we make are for this user only; the name of each is in the one above it.
  for (
    let above = dirname(folder);
    above !== folder && isPrivate(folder);
    above = dirname(folder)
  ) {
    syncIfAllowed(above);
    folder = above;
  }
}

const absentCalls: ReadonlySet<string> = new Set(['EINVAL', 'ENOTSUP', 'ENOSYS']);

function sync(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } catch (error) {
    // Some file systems in user space have no such call for folders, and nothing that it could lose.
    if (!absentCalls.has(errnoOf(error) ?? '')) throw error;
  } finally {
    closeSync(handle);
  }
}

function syncIfAllowed(folder: string): void {
  try {
    sync(folder);
  } catch (error) {
    const code = errnoOf(error);
    if (code !== 'EACCES' && code !== 'EPERM') throw error;
  }
}

function isPrivate(folder: string): boolean {
  return (lstatSync(folder).mode & 0o077) === 0;
}
