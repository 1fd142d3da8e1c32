// Takes a track of the audit log for this process, by the same kind of lock as that of an instance: it is
// free again when the process is gone, however it ended. A process of another container, of which nothing
// can be found out, keeps its track.

import type { ClaimTrack } from '../audit/open-track.ts';
import { makePrivateFolder } from '../kernel/private-folder.ts';
import { takeLock } from './lock.ts';
import { isAlive, ownHolder } from './lock-holder.ts';

export function trackClaims(program: string, now: () => number): ClaimTrack {
  return async (folder) => {
    await makePrivateFolder(folder);
    const isHeld = async (holder: Parameters<typeof isAlive>[0]) =>
      (await isAlive(holder)) !== false;
    const taken = await takeLock(folder, await ownHolder(program, now()), isHeld);
    return taken.kind === 'taken' ? { release: () => taken.lock.release() } : undefined;
  };
}
