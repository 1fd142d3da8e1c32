// Checks the disk of a state directory without writing to it, for read-only commands: is it
// writable, and is there free space? Other errors appear only when something is written.

import { constants } from 'node:fs';
import { access, stat, statfs } from 'node:fs/promises';
import { remedyFor } from '../kernel/disk-remedy.ts';
import { errnoOf } from '../kernel/errno.ts';
import type { StoreHealth } from './store.ts';

export async function lookAtDisk(folder: string): Promise<StoreHealth> {
  try {
    if (!(await stat(folder)).isDirectory()) return failing(folder, 'ENOTDIR');
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    const { blocks, bavail } = await statfs(folder);
    // Some file systems do not count their blocks at all.
    return blocks > 0 && bavail === 0 ? failing(folder, 'ENOSPC') : { ok: true };
  } catch (error) {
    const code = errnoOf(error);
    if (code === undefined) throw error;
    // It is created when it is first needed.
    return code === 'ENOENT' ? { ok: true } : failing(folder, code);
  }
}

function failing(folder: string, code: string): StoreHealth {
  return { ok: false, problem: `${folder} cannot be used (${code}): ${remedyFor(code)}` };
}
