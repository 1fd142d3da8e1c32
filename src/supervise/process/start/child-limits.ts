// The limits of one child: how much memory and how many processes its tree may have. Where a cgroup
// is available the kernel enforces the memory limit and stops a fork bomb; elsewhere, and always
// for the exact number of processes, the tree is measured about once a second. In both cases a tree
// that exceeds a limit is ended as a whole, and its exit says which limit it was. What the kernel
// did by itself (an OOM kill, a refused fork) is read from its counters.

import type { Exit } from '../../child.ts';
import { cgroupMembers, interventions, type Limits, type TreeCgroup } from '../contain/cgroup.ts';
import type { ProcessIdentity, ProcessTable } from '../watch/process-table.ts';

export type BrokenLimit = NonNullable<Exit['limit']>;

export function hasLimits({ memoryMb, processes }: Limits): boolean {
  return memoryMb !== null || processes !== null;
}

/** Enforced by the kernel. `group` was created by `limitingCgroup` for these limits. */
export function limitBrokenInCgroup(group: TreeCgroup, { processes }: Limits): BrokenLimit | null {
  const { oomKills, refusedForks } = interventions(group);
  if (oomKills > 0) return 'memoryMb';
  const members = group.pids === null ? 0 : cgroupMembers([group.pids]).length;
  return processes !== null && (refusedForks > 0 || members > processes) ? 'processes' : null;
}

/**
 * By measurement. Shared pages are counted once for each process, so that the sum is rather too
 * high; a burst shorter than the interval is not seen.
 */
export async function limitBrokenByCount(
  table: ProcessTable,
  tree: readonly ProcessIdentity[],
  { memoryMb, processes }: Limits,
): Promise<BrokenLimit | null> {
  if (processes !== null && tree.length > processes) return 'processes';
  if (memoryMb === null) return null;
  return (await table.residentBytes(tree)) > memoryMb * 1024 * 1024 ? 'memoryMb' : null;
}

/**
 * The reported exit: with the limit for which we ended the child, or for which the kernel did
 * before we saw it. A wrapper that failed because its process was killed, or because it could not
 * fork, was ended by the limit as well.
 */
export function exitWithLimit(
  exit: Exit,
  endedFor: BrokenLimit | null,
  group: TreeCgroup | null,
  wasKilledByUs: boolean,
): Exit {
  if (endedFor !== null) return { ...exit, limit: endedFor };
  if (group === null || wasKilledByUs || exit.code === 0) return exit;
  const { oomKills, refusedForks } = interventions(group);
  if (oomKills > 0) return { ...exit, limit: 'memoryMb' };
  return refusedForks > 0 ? { ...exit, limit: 'processes' } : exit;
}
