// Ends the remaining processes of a tree. A process is ours when it is known (pid and start time),
// when it has our marker, when it is in our cgroup, when its parent is ours, or when it shares a
// session with one of ours: each child leads its own session, and a process can be in it only by
// being started there. Passes repeat until two in a row find nothing, because a process may fork
// during the search. `reaper-script.ts` applies the same rules when the host is dead.

import type { Clock } from '../../../kernel/clock.ts';
import {
  isSameProcess,
  type ProcessIdentity,
  type ProcessRow,
  type ProcessTable,
} from '../watch/process-table.ts';

export interface SweepTarget {
  readonly known: readonly ProcessIdentity[];
  /** See `childToken` and `instanceToken`. */
  readonly token: string;
  /** The start of our oldest process: the environments of older ones need not be read. */
  readonly since: string;
  /** Pids read from a cgroup, again in every pass. */
  readonly members: () => readonly number[];
}

export interface Swept {
  /** How many processes were ended. */
  readonly ended: number;
  /** False when time ran out: something may be left. */
  readonly isClean: boolean;
}

export async function sweepTree(
  table: ProcessTable,
  clock: Clock,
  target: SweepTarget,
): Promise<Swept> {
  const ended = new Set<string>();
  const deadline = clock.now() + sweepMs;
  let emptyPasses = 0;
  while (emptyPasses < 2 && clock.now() < deadline) {
    const found = await pass(table, target, ended).catch(() => null);
    emptyPasses = found === 0 ? emptyPasses + 1 : 0;
    // It takes a moment to die. Where the table cannot be read (too many open files), it may be
    // readable in a moment.
    if (found !== 0) await settled(clock);
  }
  return { ended: ended.size, isClean: emptyPasses === 2 };
}

/** Searches once, ends what it finds, and returns how many there were. */
async function pass(table: ProcessTable, target: SweepTarget, ended: Set<string>): Promise<number> {
  const rows = await table.rows();
  const carriers = await table.carrying(target.token, rows, target.since);
  const marked = new Set([...carriers, ...target.members()]);
  const ours = claim(rows, target.known, marked).filter((row) => !row.isZombie);
  for (const row of ours) if (await kill(table, row)) ended.add(`${row.pid}:${row.start}`);
  return ours.length;
}

/** What has not ended by then hangs in the kernel; the next start tries again. */
const sweepMs = 2000;

/** Between a kill and the next look. */
export function settled(clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    clock.after(10, resolve);
  });
}

/** The rules above, as a closure over the rows of one moment. */
export function claim(
  rows: readonly ProcessRow[],
  known: readonly ProcessIdentity[],
  marked: ReadonlySet<number>,
  self: number = process.pid,
): readonly ProcessRow[] {
  const starts = new Map(known.map((identity) => [identity.pid, identity.start]));
  const ownSession = rows.find((row) => row.pid === self)?.session;
  const pids = new Set<number>();
  const sessions = new Set<number>();
  const isOurs = (row: ProcessRow): boolean =>
    starts.get(row.pid) === row.start ||
    marked.has(row.pid) ||
    pids.has(row.parent) ||
    sessions.has(row.session);
  const candidates = rows.filter((row) => row.pid > 1 && row.pid !== self);
  for (let before = -1; before !== pids.size; ) {
    before = pids.size;
    for (const row of candidates) {
      if (pids.has(row.pid) || !isOurs(row)) continue;
      pids.add(row.pid);
      // Our own session contains the user's shell as well; 0 means one we cannot see.
      if (row.session !== ownSession && row.session > 1) sessions.add(row.session);
    }
  }
  return candidates.filter((row) => pids.has(row.pid));
}

/** Checks once more before it kills. False when it was gone, or we have no permission. */
async function kill(table: ProcessTable, identity: ProcessIdentity): Promise<boolean> {
  return (
    isSameProcess(identity, await table.find(identity.pid)) && sendSignal(identity.pid, 'SIGKILL')
  );
}

/** A negative pid names a group. False when it does not exist, or we have no permission. */
export function sendSignal(pid: number, name: 'SIGTERM' | 'SIGKILL'): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    // ESRCH: it has ended, which was the point. EPERM: it has become another user's process.
    return false;
  }
}
