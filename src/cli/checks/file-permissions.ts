// Checks who may read and write our files. The config decides which programs run, and the state
// directory has the output of servers: other users must not have access to either.

import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { causeOf, remedyFor } from '../../kernel/disk-remedy.ts';
import { errnoOf } from '../../kernel/errno.ts';
import { type Check, finding, ok } from './check.ts';

export async function checkConfigFile(file: string): Promise<readonly Check[]> {
  const { mode } = await stat(file);
  if ((mode & 0o022) === 0) return [];
  const whom = (mode & 0o002) === 0 ? 'its group' : 'everyone';
  return [
    finding(
      'config',
      `${file} can be written by ${whom}, but it decides which programs run`,
      `chmod go-w '${file}'`,
    ),
  ];
}

export async function checkStateDirectory(
  folder: string,
  ownUid: number | undefined,
): Promise<Check> {
  const stats = await stat(folder).catch(unlessMissing);
  if (stats === undefined) return await checkFutureDirectory(folder);
  if (!stats.isDirectory()) {
    return finding(
      'state',
      `${folder} is not a directory`,
      'move it away, or set HOLDFAST_STATE to a directory',
    );
  }
  if (ownUid !== undefined && stats.uid !== ownUid) {
    return finding(
      'state',
      `${folder} belongs to another user`,
      'set HOLDFAST_STATE to a directory of your own',
    );
  }
  const refusal = await refusalAt(folder);
  if (refusal !== undefined) {
    const isForbidden = refusal === 'EACCES' || refusal === 'EPERM';
    const remedy = isForbidden ? `chmod u+rwx '${folder}'` : remedyFor(refusal);
    return finding('state', `${folder} cannot be written (${causeOf(refusal)}); ${limits}`, remedy);
  }
  if (ownUid !== undefined && (stats.mode & 0o077) !== 0) {
    return finding('state', `${folder} is open to other users`, `chmod 700 '${folder}'`);
  }
  return ok('state', folder);
}

/** Of a state directory that cannot be written. */
const limits =
  'commands and holdfast serve work, but nothing is stored, and holdfast connect starts no instance';

/** It is created when it is first needed; this checks whether that is possible. */
async function checkFutureDirectory(folder: string): Promise<Check> {
  let above = dirname(folder);
  while ((await stat(above).catch(unlessMissing)) === undefined) above = dirname(above);
  const refusal = await refusalAt(above);
  if (refusal === undefined) return ok('state', `${folder} (created when it is needed)`);
  return finding(
    'state',
    `${folder} cannot be created, because ${above} cannot be written (${causeOf(refusal)}); ${limits}`,
    'set HOLDFAST_STATE to a directory that can be created',
  );
}

/** The code of the error that a write there would have; undefined if there is none. */
function refusalAt(folder: string): Promise<string | undefined> {
  return access(folder, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => undefined,
    (error: unknown) => errnoOf(error) ?? 'EACCES',
  );
}

/** Any error that hides it also prevents its use. */
function unlessMissing(): undefined {
  return undefined;
}
