// What a disk error means, and what a user can do about it, by the code of the system error.

import { ownValue } from './own-value.ts';

const access = 'make it accessible for this user, or set HOLDFAST_STATE to another directory';
const inTheWay = 'something of another type exists at that path: move it away';

const remedies: Readonly<Record<string, string>> = {
  ENOSPC: 'free space on that disk',
  EDQUOT: 'free space in your quota',
  EROFS: 'set HOLDFAST_STATE to a directory that can be written',
  EACCES: access,
  EPERM: access,
  EMFILE: 'raise the limit of open files',
  ENFILE: 'raise the limit of open files',
  ELOOP: 'it is a symbolic link: remove it',
  EISDIR: inTheWay,
  ENOTDIR: inTheWay,
  EEXIST: inTheWay,
  ENXIO: inTheWay,
};

const causes: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota is used up',
  EROFS: 'the file system is read-only',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
};

/** What the code says, in one short phrase with the code. */
export function causeOf(code: string): string {
  const cause = ownValue(causes, code);
  return cause === undefined ? code : `${code}, ${cause}`;
}

/** One short phrase; it ends the message that reports the error. */
export function remedyFor(code: string): string {
  return ownValue(remedies, code) ?? 'check the disk';
}
