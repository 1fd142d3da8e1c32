// Whether a folder or a socket is what it should be: of this user, and not a link to something else. Both
// sides check before they use it, because whoever can write to the control socket can run every tool.

import { lstat } from 'node:fs/promises';
import { Fault } from '../kernel/fault.ts';
import { isOfOther, othersMay } from '../kernel/own-file.ts';

/** Throws a Fault unless it is a folder of this user that nobody else can enter. */
export async function assertOwnFolder(path: string): Promise<void> {
  const found = await lstat(path);
  if (!found.isDirectory()) throw unsafe(path, 'it is not a folder');
  assertOwner(path, found.uid);
  if (process.platform !== 'win32' && (found.mode & othersMay.readOrChange) !== 0) {
    throw unsafe(path, 'others can enter it; change that with: chmod 700');
  }
}

/** The same for a socket. */
export async function assertOwnSocket(path: string): Promise<void> {
  const found = await lstat(path);
  if (!found.isSocket()) throw unsafe(path, 'it is not a socket');
  assertOwner(path, found.uid);
}

function assertOwner(path: string, uid: number): void {
  if (isOfOther(uid)) throw unsafe(path, 'it belongs to another user');
}

function unsafe(path: string, why: string): Fault {
  return new Fault('unavailable', `${path} is not used: ${why}`);
}
