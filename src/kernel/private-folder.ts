// Folders that belong to this user alone. Made level by level, because the recursive form of mkdir
// never returns in places such as /proc; closed to others even if they existed before.

import { chmod, mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errnoOf } from './errno.ts';

/** Makes the folder and what is missing above it, each for this user only. */
export async function makePrivateFolder(folder: string): Promise<void> {
  await make(folder);
  const { mode } = await stat(folder);
  if ((mode & 0o077) !== 0) await chmod(folder, 0o700);
}

async function make(folder: string): Promise<void> {
  const there = await stat(folder).catch(unlessAbsent);
  if (there?.isDirectory()) return;
  if (there === undefined && dirname(folder) !== folder) await make(dirname(folder));
  // Fails with EEXIST where something else has its name, and where another process was faster.
  await mkdir(folder, { mode: 0o700 }).catch(async (error: unknown) => {
    if (!(await stat(folder).catch(() => undefined))?.isDirectory()) throw error;
  });
}

/** A disk that fails is not the same as a folder that is not there. */
function unlessAbsent(error: unknown): undefined {
  const code = errnoOf(error);
  if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
}
