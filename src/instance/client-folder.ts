// Checks the folder that a client on the control socket says it was started in, before a server may run
// there: it must be a folder of this user (root may use any).

import { realpath, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import type { ClientFolder } from '../host/connections/client-folder.ts';
import { type Clock, within } from '../kernel/clock.ts';
import { errnoOf } from '../kernel/errno.ts';

/** A disk that does not answer (a network share) must not keep the client from everything else. */
const lookMs = 1_000;

/** Undefined if nothing was said. Never rejects because of what was. */
export async function folderOfClient(
  said: string | undefined,
  clock: Clock,
): Promise<ClientFolder | undefined> {
  if (said === undefined) return undefined;
  if (!isAbsolute(said) || said.includes('\0'))
    return { problem: 'its folder has no absolute path' };
  let found: ClientFolder = { problem: `${said} could not be looked at in time` };
  const looking = looked(said).then((folder) => {
    found = folder;
  });
  await within(clock, lookMs, looking);
  return found;
}

async function looked(said: string): Promise<ClientFolder> {
  try {
    const path = await realpath(said);
    const found = await stat(path);
    if (!found.isDirectory()) return { problem: `${path} is not a folder` };
    const own = process.geteuid?.() ?? 0;
    return own === 0 || found.uid === own
      ? { path }
      : { problem: `${path} belongs to another user` };
  } catch (error) {
    const code = errnoOf(error);
    if (code === undefined) throw error;
    return { problem: `${said} cannot be used (${code})` };
  }
}
