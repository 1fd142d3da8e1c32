// Folders that only this user can access. They are created level by level, because the recursive
// form of mkdir never returns in places such as /proc; folders that existed before are closed to
// others.

import { chmod, mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errnoOf } from './errno.ts';

/** Creates the folder and missing folders above it, each for this user only. */
export async function makePrivateFolder(folder: string): Promise<void> {
  await make(folder);
  const { mode } = await stat(folder);
  if ((mode & 0o077) !== 0) await chmod(folder, 0o700);
}

async function make(folder: string): Promise<void> {
  const there = await stat(folder).catch(unlessAbsent);
  if (there?.isDirectory()) return;
  if (there === undefined && dirname(folder) !== folder) await make(dirname(folder));
  // Fails with EEXIST if something else has that name, or if another process was faster.
  await mkdir(folder, { mode: 0o700 }).catch(async (error: unknown) => {
    if (!(await stat(folder).catch(() => undefined))?.isDirectory()) throw error;
  });
}

/** A failing disk must not be mistaken for a missing folder. */
function unlessAbsent(error: unknown): undefined {
  const code = errnoOf(error);
  if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
}
