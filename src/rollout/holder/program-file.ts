// The file that a serving process is started from: its real path, fixed when the holder starts, and whether it may be
// used later. An update replaces it while the holder runs, so whoever may write it may run code as this user: it, the
// files of the program beside it and the folders that lead to it must belong to this user or to root, and may not be
// changed by others.

import {
  accessSync,
  constants,
  lstatSync,
  readdirSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { errnoOf } from '../../kernel/errno.ts';

/** The path without links: an update may come where a link leads to, and none of the links decides what is started. */
export function ownProgramFile(path: string): string {
  return realpathSync(path);
}

/** Why it is not started, as a whole sentence; undefined if it may be. */
export function programFlaw(path: string): string | undefined {
  try {
    const found = lstatSync(path);
    if (!found.isFile()) return `${path} is not a regular file`;
    const flaw = openToOthers(found) ?? unreadable(path);
    if (flaw !== undefined) return `${path} ${flaw}`;
    const folder = dirname(path);
    const around = openToOthers(lstatSync(folder), true);
    if (around !== undefined) return `${folder} ${around}`;
    return neighboursFlaw(folder) ?? outerFlaw(dirname(folder));
  } catch (error) {
    const code = errnoOf(error);
    if (code === undefined) throw error;
    return `${path} cannot be read now (${code})`;
  }
}

/** Where everybody may write, anything may be put in the place of what leads here. Groups and owners are the system's. */
function outerFlaw(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    const { mode } = lstatSync(at);
    if ((mode & othersMayWrite) !== 0 && (mode & sticky) === 0) return `${at} ${byOthers}`;
    if (dirname(at) === at) return undefined;
  }
}

/** The program consists of the files beside it. */
function neighboursFlaw(folder: string): string | undefined {
  const files = readdirSync(folder).filter((name) => /\.[cm]?js$/.test(name));
  for (const name of files) {
    const file = join(folder, name);
    // What a link leads to counts.
    const flaw = openToOthers(statSync(file));
    if (flaw !== undefined) return `${file} ${flaw}`;
  }
  return undefined;
}

const byOthers = 'can be changed by others';
const othersMayWrite = 0o002;
const groupMayWrite = 0o020;
/** In such a folder only the owner of a file may replace it. */
const sticky = 0o1000;

type Facts = Pick<Stats, 'mode' | 'uid' | 'gid'>;

/** A group that has only this user in it as a rule (umask 002) is that of the process. */
export function openToOthers(
  { mode, uid, gid }: Facts,
  isFolder = false,
  own: { readonly uid: number; readonly gid: number } | undefined = ownIds(),
): string | undefined {
  if (own === undefined) return undefined;
  if (uid !== own.uid && uid !== 0) return 'belongs to another user';
  if (isFolder && (mode & sticky) !== 0) return undefined;
  if ((mode & othersMayWrite) !== 0) return byOthers;
  const isOwnGroup = gid === own.gid && gid === own.uid;
  return (mode & groupMayWrite) !== 0 && !isOwnGroup ? 'can be changed by its group' : undefined;
}

function unreadable(path: string): string | undefined {
  try {
    accessSync(path, constants.R_OK);
    return undefined;
  } catch (error) {
    return `cannot be read (${errnoOf(error) ?? 'unknown error'})`;
  }
}

/** Undefined on Windows, which does not tell. */
function ownIds(): { readonly uid: number; readonly gid: number } | undefined {
  const { geteuid, getegid } = process;
  if (geteuid === undefined || getegid === undefined) return undefined;
  return { uid: geteuid.call(process), gid: getegid.call(process) };
}
