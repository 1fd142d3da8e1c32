// Checks the folder that a client on the control socket says it was started in, before a server may run
// there: it must be a folder of this user.

import { realpath, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import type { ClientFolder } from '../host/connections/client-folder.ts';
import { errnoOf } from '../kernel/errno.ts';

/** Never rejects because of what the client has said. */
export async function folderOfClient(said: string): Promise<ClientFolder> {
  if (!isAbsolute(said) || said.includes('\0'))
    return { problem: 'its folder has no absolute path' };
  try {
    const path = await realpath(said);
    const found = await stat(path);
    if (!found.isDirectory()) return { problem: `${path} is not a folder` };
    const own = process.geteuid?.();
    if (own === undefined || found.uid === own) return { path };
    return { problem: `${path} belongs to another user` };
  } catch (error) {
    const code = errnoOf(error);
    if (code === undefined) throw error;
    return { problem: `${said} cannot be used (${code})` };
  }
}
