// The disk operations of a store, and their implementation. A file is only ever replaced as a
// whole: written under a temporary name, forced to the disk, renamed, and the folder forced too,
// with all folders above it that may be new. So at every instant, and after every crash or power
// cut, a name has either the old content or the new one. Files are readable by this user only (0600
// in folders of 0700). System errors are passed on unchanged, with their code.

import { randomUUID } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { lstat, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readOwnFile } from '../kernel/bounded-file.ts';
import { errnoOf } from '../kernel/errno.ts';
import { makePrivateFolder } from '../kernel/private-folder.ts';

/** Names are relative and use `/`. */
export interface Disk {
  /** The full path, for messages. */
  pathOf(name: string): string;
  /** The file's bytes; undefined when there is no such file. Throws `FileTooLarge` beyond the limit. */
  read(name: string, maxBytes: number): Promise<Buffer | undefined>;
  /** When this resolves, the content survives a power cut. */
  replace(name: string, bytes: Buffer): Promise<void>;
  /** When this resolves, the file is removed permanently; it need not have existed. */
  remove(name: string): Promise<void>;
  /** Renames a file that is damaged and resolves to its new name. */
  setAside(name: string): Promise<string>;
  /** The names in a folder (`''` is the root); none when nothing is there. */
  list(folder: string): Promise<readonly string[]>;
  /** Removes temporary files that a crash left in the folder before the given time. */
  tidy(folder: string, before: number): Promise<void>;
}

const unfinished = '.tmp';

export function nodeDisk(root: string): Disk {
  const prepared = new Set<string>();
  const pathOf = (name: string) => join(root, name);

  async function prepare(folder: string): Promise<void> {
    if (prepared.has(folder)) return;
    await makePrivateFolder(root);
    await makePrivateFolder(folder);
    // The first time, any folder above may have just been created.
    if (prepared.size === 0) await syncUpwards(root);
    else await sync(root);
    prepared.add(folder);
  }

  return {
    pathOf,
    read: (name, maxBytes) => unlessAbsent(readOwnFile(pathOf(name), maxBytes), undefined),
    async replace(name, bytes) {
      const target = pathOf(name);
      await prepare(dirname(target));
      const draft = `${target}.${randomUUID()}${unfinished}`;
      try {
        await writeThrough(draft, bytes);
        await rename(draft, target);
      } catch (error) {
        prepared.delete(dirname(target));
        // The temporary file is useless now; if it cannot be removed either, `tidy` finds it later.
        await rm(draft, { force: true }).catch(() => {});
        throw error;
      }
      await sync(dirname(target));
    },
    async remove(name) {
      if ((await statOf(pathOf(name))) === undefined) return;
      await rm(pathOf(name), { force: true });
      await sync(dirname(pathOf(name)));
    },
    async setAside(name) {
      await rename(pathOf(name), pathOf(`${name}.damaged`));
      return `${name}.damaged`;
    },
    async list(folder) {
      return await unlessCode(['ENOENT'], readdir(pathOf(folder)), []);
    },
    async tidy(folder, before) {
      for (const name of await unlessAbsent(readdir(pathOf(folder)), [])) {
        if (!name.endsWith(unfinished)) continue;
        const stats = await statOf(join(pathOf(folder), name));
        if (stats !== undefined && stats.mtimeMs < before) {
          await rm(join(pathOf(folder), name), { force: true });
        }
      }
    },
  };
}

async function writeThrough(path: string, bytes: Buffer): Promise<void> {
  const handle = await open(path, 'wx', 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

/** Forces a folder's names to the disk; Windows neither offers nor needs that. */
async function sync(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * The same for every folder above it, as far as they belong to this user: others cannot have been
 * created by us.
 */
async function syncUpwards(folder: string): Promise<void> {
  await sync(folder);
  const above = dirname(folder);
  if (above === folder || process.platform === 'win32') return;
  const { uid } = await lstat(above);
  if (uid === process.getuid?.())
    await unlessCode(['EACCES', 'EPERM'], syncUpwards(above), undefined);
}

function statOf(path: string): Promise<Stats | undefined> {
  return unlessAbsent(lstat(path), undefined);
}

function unlessAbsent<T, U>(work: Promise<T>, otherwise: U): Promise<T | U> {
  return unlessCode(['ENOENT', 'ENOTDIR'], work, otherwise);
}

async function unlessCode<T, U>(
  codes: readonly string[],
  work: Promise<T>,
  otherwise: U,
): Promise<T | U> {
  try {
    return await work;
  } catch (error) {
    const code = errnoOf(error);
    if (code !== undefined && codes.includes(code)) return otherwise;
    throw error;
  }
}
