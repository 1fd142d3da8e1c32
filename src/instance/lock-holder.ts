// Who holds the lock of an instance, as the lock file says it, and whether that process still lives. A
// pid alone may belong to another process a moment later; it counts together with its start time,
// within one boot of the machine and one pid namespace.

import * as z from 'zod';
import { bootId, pidNamespaceId } from '../supervise/process/contain/instance-record.ts';
import { isSameProcess } from '../supervise/process/watch/process-table.ts';
import { systemProcesses } from '../supervise/process/watch/system-processes.ts';

const holderSchema = z.object({
  pid: z.number().int().positive(),
  /** When the process was started, as the system counts it. */
  start: z.string(),
  boot: z.string(),
  pidNamespace: z.string(),
  program: z.string(),
  /** Wall time. */
  since: z.number(),
});

export type LockHolder = z.infer<typeof holderSchema>;

/** Undefined if nobody holds the lock: it was released, or the text is incomplete. */
export function holderIn(text: string): LockHolder | undefined {
  try {
    return holderSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

const procDir = '/proc';

/** This process. */
export async function ownHolder(program: string, since: number): Promise<LockHolder> {
  const found = await systemProcesses(procDir).find(process.pid);
  return {
    pid: process.pid,
    start: found?.start ?? '',
    boot: bootId(procDir),
    pidNamespace: pidNamespaceId(procDir),
    program,
    since,
  };
}

/** Undefined: it runs in another pid namespace, so that its pid says nothing here. */
export async function isAlive(holder: LockHolder): Promise<boolean | undefined> {
  if (holder.boot !== bootId(procDir)) return false;
  if (holder.pidNamespace !== pidNamespaceId(procDir)) return undefined;
  const found = await systemProcesses(procDir).find(holder.pid);
  return isSameProcess(holder, found) && found?.isZombie === false;
}
