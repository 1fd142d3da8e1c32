// What to do about a disk that fails, by the code of the system's error: the words that end the line in
// which a user hears of it.

import { ownValue } from './own-value.ts';

const access = 'make it accessible for this user, or set HOLDFAST_STATE to another place';
const inTheWay = 'something else has its place: move that away';

const remedies: Readonly<Record<string, string>> = {
  ENOSPC: 'free space on that disk',
  EDQUOT: 'free space in your quota',
  EROFS: 'set HOLDFAST_STATE to a disk that can be written',
  EACCES: access,
  EPERM: access,
  EMFILE: 'raise the limit of open files',
  ENFILE: 'raise the limit of open files',
  ELOOP: 'a link has its place: remove that',
  EISDIR: inTheWay,
  ENOTDIR: inTheWay,
  EEXIST: inTheWay,
  ENXIO: inTheWay,
};

/** In a few words. */
export function remedyFor(code: string): string {
  return ownValue(remedies, code) ?? 'check the disk';
}
