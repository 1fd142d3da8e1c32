// A disk that is really small, and so can really be full: a tmpfs in the place of a folder. Only root can
// mount one; where that is not allowed, the answer says why, and whoever asked has to say so.

import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Mounts one of 512 KiB on the folder, for this user only. Why it could not be mounted; undefined if it was. */
export function mountSmallDisk(folder: string): string | undefined {
  return mount(['-t', 'tmpfs', '-o', 'size=512k,mode=700', 'tmpfs', folder]);
}

/** Its processes may still be there. */
export function unmountSmallDisk(folder: string): void {
  execFileSync('umount', ['--lazy', folder]);
}

/** Why it could not be done; undefined if it was. */
export function mount(args: readonly string[]): string | undefined {
  if (process.getuid?.() !== 0) return 'only root can mount a file system';
  try {
    execFileSync('mount', args, { stdio: ['ignore', 'ignore', 'pipe'] });
    return undefined;
  } catch (error) {
    return (error as { stderr?: Buffer }).stderr?.toString().trim() ?? 'there is no mount command';
  }
}

/** Uses the last byte of the disk below the folder; the file that it is in. */
export function fillUp(folder: string): string {
  const filler = join(folder, 'filler');
  for (const bytes of [65_536, 4_096, 1]) while (grow(filler, bytes));
  return filler;
}

/** One more piece at the end of a file; false when there is no room. */
function grow(file: string, bytes: number): boolean {
  try {
    writeFileSync(file, Buffer.alloc(bytes), { flag: existsSync(file) ? 'a' : 'w' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false;
    throw error;
  }
}
