// The disk operations of the audit log, and their implementation: files that are only appended to, for
// this user only (0600 in folders of 0700). A symbolic link is not followed, a pipe not waited for. System
// errors are passed on unchanged, with their code. Nothing here is done by this thread: the disk may be one of
// the network, which hangs.

import { constants } from 'node:fs';
import { lstat, open, readdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readOwnFile } from '../kernel/bounded-file.ts';
import { errnoOf } from '../kernel/errno.ts';
import { makePrivateFolder } from '../kernel/private-folder.ts';

export interface AuditFile {
  append(bytes: Buffer): Promise<void>;
  /** Resolves when what was appended survives a power cut. */
  sync(): Promise<void>;
  cut(size: number): Promise<void>;
  /** Whether it is still the file at its path: not moved, removed or replaced. */
  isInPlace(): Promise<boolean>;
  /** The same, and whether it has this size. */
  isAsLeft(size: number): Promise<boolean>;
  close(): Promise<void>;
}

export interface AuditDisk {
  /** The names in a folder; none if it does not exist. */
  list(folder: string): Promise<readonly string[]>;
  read(path: string, maxBytes: number): Promise<Buffer>;
  /** Its size, and its last bytes. */
  readEnd(path: string, maxBytes: number): Promise<{ readonly size: number; readonly end: Buffer }>;
  /** For appending; created if it does not exist, with the folders above it. */
  open(path: string): Promise<AuditFile>;
}

const careful = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

export const nodeAuditDisk: AuditDisk = {
  async list(folder) {
    try {
      if ((await lstat(folder)).isSymbolicLink()) {
        throw Object.assign(new Error(`${folder} is a link`), { errno: -1, code: 'ELOOP' });
      }
      return await readdir(folder);
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return [];
      throw error;
    }
  },
  read: readOwnFile,
  async readEnd(path, maxBytes) {
    const handle = await open(path, constants.O_RDONLY | careful);
    try {
      const { size } = await handle.stat();
      const length = Math.min(size, maxBytes);
      const read = await handle.read(Buffer.alloc(length), 0, length, size - length);
      return { size, end: read.buffer.subarray(0, read.bytesRead) };
    } finally {
      await handle.close();
    }
  },
  async open(path) {
    const folder = dirname(path);
    await makePrivateFolder(folder);
    const isNew = await lstat(path).then(() => false, ifAbsent);
    const flags = constants.O_CREAT | constants.O_APPEND | constants.O_RDWR;
    const handle = await open(path, flags | careful, 0o600);
    try {
      if (!(await handle.stat()).isFile()) {
        throw Object.assign(new Error(`${path} is not a file`), { errno: -1, code: 'EISDIR' });
      }
      if (isNew) await syncFolders(folder);
    } catch (error) {
      await handle.close();
      throw error;
    }
    /** Its size; undefined if it is not at its path any more. */
    const sizeInPlace = async () => {
      const { dev, ino, nlink, size } = await handle.stat();
      const there = await lstat(path).catch(ifGone);
      return nlink > 0 && there?.ino === ino && there.dev === dev ? size : undefined;
    };
    return {
      async append(bytes) {
        for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at)).bytesWritten;
      },
      sync: () => handle.datasync(),
      cut: (size) => handle.truncate(size),
      isInPlace: async () => (await sizeInPlace()) !== undefined,
      isAsLeft: async (size) => (await sizeInPlace()) === size,
      close: () => handle.close(),
    };
  },
};

function ifAbsent(error: unknown): true {
  if (errnoOf(error) === 'ENOENT') return true;
  throw error;
}

function ifGone(error: unknown): undefined {
  const code = errnoOf(error);
  if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
}

/** The file's folder and the two above it, which may be new as well. */
async function syncFolders(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  for (const one of [folder, dirname(folder), dirname(dirname(folder))]) {
    const handle = await open(one, constants.O_RDONLY);
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }
}
