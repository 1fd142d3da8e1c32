// Commands that change the same files and must not run at once, such as two that add a credential of one name: files
// are replaced as a whole, so that the last one would win and the first one has told its user a secret that is gone.
// The next one waits until the one before has ended, for some seconds.

import { join } from 'node:path';
import { ownIdentity } from '../host/identity.ts';
import { takeLock } from '../instance/lock.ts';
import { isAlive, type LockHolder, ownHolder } from '../instance/lock-holder.ts';
import type { Clock } from '../kernel/clock.ts';
import { Fault } from '../kernel/fault.ts';
import { makePrivateFolder } from '../kernel/private-folder.ts';

const againMs = 20;
const patienceMs = 10_000;

/** `folder` has its own lock in it. Throws a Fault if another command does not end, or an error of the system. */
export async function oneAtATime<T>(
  folder: string,
  clock: Clock,
  work: () => Promise<T>,
): Promise<T> {
  const place = join(folder, 'changing');
  await makePrivateFolder(place);
  const lock = await locked(place, clock);
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

async function locked(place: string, clock: Clock) {
  const self = { ...(await ownHolder(ownIdentity().version, clock.wallNow())), startedBy: null };
  const isHeld = async (holder: LockHolder) => (await isAlive(holder)) ?? false;
  const until = clock.now() + patienceMs;
  for (;;) {
    const attempt = await takeLock(place, self, isHeld);
    if (attempt.kind === 'taken') return attempt.lock;
    if (clock.now() >= until) {
      throw new Fault(
        'unavailable',
        `another command has been changing ${place} for ${patienceMs / 1_000} s (process ${attempt.by.pid}); end that one, or try again`,
      );
    }
    await new Promise<void>((resolve) => void clock.after(againMs, resolve));
  }
}
