// The lock of a broker's directory: one broker uses it at a time. A second one would read a database that changes.

import { ownIdentity } from '../host/identity.ts';
import { type InstanceLock, takeLock } from '../instance/lock.ts';
import { isAlive, type LockHolder, ownHolder } from '../instance/lock-holder.ts';
import type { Clock } from '../kernel/clock.ts';
import { Fault } from '../kernel/fault.ts';

/** A process of another container, which cannot be seen from here, counts as alive so long after its start. */
const foreignStartMs = 60_000;

/** Throws a Fault if another broker has it, or an error of the system. */
export async function brokerLock(folder: string, clock: Clock): Promise<InstanceLock> {
  const self = { ...(await ownHolder(ownIdentity().version, clock.wallNow())), startedBy: null };
  const isHeld = async (holder: LockHolder) =>
    (await isAlive(holder)) ?? isRecent(clock.wallNow() - holder.since);
  const attempt = await takeLock(folder, self, isHeld);
  if (attempt.kind === 'taken') return attempt.lock;
  throw new Fault(
    'unavailable',
    `${folder} is in use by another broker (process ${attempt.by.pid}); let members connect to that one, or name another directory with --dir DIR`,
  );
}

function isRecent(agoMs: number): boolean {
  return agoMs >= 0 && agoMs < foreignStartMs;
}
