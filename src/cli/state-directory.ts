// The state directory of this user, shared by everything Holdfast runs for them: the event log,
// facts about servers, and the records of running processes. It is optional: if it cannot be used,
// one line says so and the command continues without it.

import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { homeOf } from '../config/config-path.ts';
import { stateDirectory } from '../config/locate.ts';
import { causeOf, remedyFor } from '../kernel/disk-remedy.ts';
import { errnoOf } from '../kernel/errno.ts';
import { makePrivateFolder } from '../kernel/private-folder.ts';
import { remark, type Shell } from './shell.ts';

/** Where it is, whether or not it exists. */
export async function ownStateDirectory({ cwd, env }: Shell): Promise<string> {
  return stateDirectory({ cwd, env, home: homeOf(env) });
}

/** The same, created if necessary; null, with a warning, if it cannot be used. */
export async function usableStateDirectory(shell: Shell): Promise<string | null> {
  const folder = await ownStateDirectory(shell);
  try {
    await makePrivateFolder(folder);
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return folder;
  } catch (error) {
    const code = errnoOf(error);
    if (code === undefined) throw error;
    const told = `the state directory ${folder} cannot be used (${causeOf(code)}), so no state is stored for now`;
    remark(shell, `${told}: ${remedyFor(code)}; see: holdfast doctor`);
    return null;
  }
}
