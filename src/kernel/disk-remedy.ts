// What a user can do about a disk error, by the code of the system error. The text ends the message
// that reports the error.

import { ownValue } from './own-value.ts';

const access = 'make it accessible for this user, or set HOLDFAST_STATE to another directory';
const inTheWay = 'something of another type exists at that path: move it away';

const remedies: Readonly<Record<string, string>> = {
  ENOSPC: 'free space on that disk',
  EDQUOT: 'free space in your quota',
  EROFS: 'set HOLDFAST_STATE to a disk that can be written',
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

/** One short phrase. */
export function remedyFor(code: string): string {
  return ownValue(remedies, code) ?? 'check the disk';
}
