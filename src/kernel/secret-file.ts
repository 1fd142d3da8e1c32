// Reads a file that holds a secret and that the config names. Only a regular file of this user or of
// root is used, and only if no other user can write it: what somebody else can put there would be
// sent as our credential. The open file is checked, not its name, so it cannot be exchanged in
// between; a link leads to the file that is checked. A pipe is refused without waiting for it.

import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { errnoOf } from './errno.ts';
import { shortageOf } from './shortage.ts';

export type SecretFile =
  | { readonly kind: 'content'; readonly bytes: Buffer }
  /** `cause` continues a sentence whose subject is the file. */
  | { readonly kind: 'unusable'; readonly cause: string };

/** At most so many bytes of this file. */
export type ReadSecret = (path: string, maxBytes: number) => Promise<SecretFile>;

/** Throws only for a shortage of this process, such as too many open files. */
export async function readSecretFile(path: string, maxBytes: number): Promise<SecretFile> {
  try {
    await using file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const cause = await reasonAgainst(file);
    if (cause !== undefined) return { kind: 'unusable', cause };
    return await contentOf(file, maxBytes);
  } catch (error) {
    const code = errnoOf(error);
    if (code === undefined || shortageOf(error) !== undefined) throw error;
    const cause = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
    return { kind: 'unusable', cause };
  }
}

const othersMayWrite = 0o022;

async function reasonAgainst(file: FileHandle): Promise<string | undefined> {
  const stats = await file.stat();
  if (!stats.isFile()) return 'is not a regular file';
  const us = process.getuid?.();
  if (us === undefined) return undefined;
  if (stats.uid !== us && stats.uid !== 0) return 'belongs to another user';
  return (stats.mode & othersMayWrite) === 0
    ? undefined
    : 'can be written by other users: remove that with chmod go-w';
}

async function contentOf(file: FileHandle, maxBytes: number): Promise<SecretFile> {
  // One byte more than allowed shows that there is more.
  const room = Buffer.alloc(maxBytes + 1);
  let length = 0;
  for (let isMore = true; isMore && length < room.length; ) {
    const { bytesRead } = await file.read(room, length);
    length += bytesRead;
    isMore = bytesRead > 0;
  }
  if (length > maxBytes) return { kind: 'unusable', cause: `has more than ${maxBytes} bytes` };
  return { kind: 'content', bytes: room.subarray(0, length) };
}
