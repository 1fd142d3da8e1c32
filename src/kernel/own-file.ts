// Whether a file at a path of ours is one of ours: a regular file, of this user, that others cannot change
// or, where it is a secret, read. A named pipe in its place would hang whoever opens it, a link leads to a
// file that is none of our business, and what others have written must not be used. Callers look with
// `lstat`, before they open it.

import type { Stats } from 'node:fs';

/** What others may not be able to do with it, as bits of its mode. */
export const othersMay = { change: 0o022, readOrChange: 0o077 } as const;

type Facts = Pick<Stats, 'mode' | 'uid' | 'isFile' | 'isSymbolicLink'>;

/** Why it must not be used, as the end of a sentence about it; undefined if it may be. */
export function fileFlaw(found: Facts, forbidden: number = othersMay.change): string | undefined {
  if (found.isSymbolicLink()) return 'is a symbolic link';
  if (!found.isFile()) return 'is not a regular file';
  if (isOfOther(found.uid)) return 'belongs to another user';
  if (process.platform === 'win32' || (found.mode & forbidden) === 0) return undefined;
  return `can be ${forbidden === othersMay.change ? 'changed' : 'read'} by others`;
}

/** Windows does not tell. */
export function isOfOther(uid: number): boolean {
  const own = process.geteuid?.();
  return own !== undefined && uid !== own;
}
