// Runs at the start, before the first child: ends the processes that dead hosts left behind. Each
// record in the state directory names a host and its processes; if that host no longer lives, its
// processes are swept by the usual rules, and the record is removed. A living host, one whose pid-holder
// lives (its next serving process has them, or ends them), and a host in
// another pid namespace (a container that shares the directory), are not touched. A record that is
// damaged is moved aside and reported; one that cannot be read is left to the next start. Neither
// prevents a server from starting.

import { readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readOwnFile } from '../../../kernel/bounded-file.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { errnoOf } from '../../../kernel/errno.ts';
import { FileTooLarge } from '../../../kernel/file-too-large.ts';
import { cgroupMembers, killMembers, removeCgroup } from '../contain/cgroup.ts';
import {
  bootId,
  type InstanceFile,
  pidNamespaceId,
  recordsDir,
} from '../contain/instance-record.ts';
import { instanceToken } from '../start/environment.ts';
import { isSameProcess, type ProcessIdentity, type ProcessTable } from '../watch/process-table.ts';
import { sweepTree } from './sweep.ts';

export interface OrphanSweepOptions {
  readonly stateDir: string;
  readonly procDir: string;
  readonly table: ProcessTable;
  readonly clock: Clock;
  readonly notice: (message: string) => void;
  /** The pid-holder of which this is the next serving process after one that has died. */
  readonly follows?: ProcessIdentity | undefined;
}

/** How many processes were ended. */
export async function sweepOrphans(options: OrphanSweepOptions): Promise<number> {
  const dir = recordsDir(options.stateDir);
  // No directory: nobody has ever recorded anything here.
  const names = await readdir(dir).catch(() => []);
  let ended = 0;
  for (const name of names) {
    const file = join(dir, name);
    try {
      if (name.endsWith('.json')) ended += await sweepRecord(file, options);
      else if (!name.endsWith(damaged)) await removeIfOlder(file, unfinishedMs, options.clock);
    } catch (error) {
      const code = errnoOf(error);
      if (code === undefined) throw error;
      // Its host, or another that starts at this moment, has removed it.
      if (code === 'ENOENT') continue;
      options.notice(
        `cannot process ${file} (${code}): the processes it names may still be running; check with ps, then delete it`,
      );
    }
  }
  return ended;
}

const damaged = '.damaged';

/**
 * A temporary file that its host was writing when it died; a living host renames it within a
 * moment.
 */
const unfinishedMs = 60_000;

/**
 * How long a record from another namespace is kept; its host may be alive where we cannot see it.
 */
const foreignRecordMs = 7 * 24 * 3_600_000;

async function sweepRecord(file: string, options: OrphanSweepOptions): Promise<number> {
  const { procDir, table, clock } = options;
  const record = await readRecord(file);
  if (record === null) {
    await setAside(file, options);
    return 0;
  }
  if (record.boot !== bootId(procDir)) {
    // From before the machine was restarted: nothing of it can be alive.
    await rm(file, { force: true });
    return 0;
  }
  if (record.pidNamespace !== pidNamespaceId(procDir)) {
    await removeIfOlder(file, foreignRecordMs, clock);
    return 0;
  }
  if (await isHeld(record, options)) return 0;
  await killMembers(record.cgroups);
  const { ended, isClean } = await sweepTree(table, clock, {
    known: record.processes,
    token: instanceToken(record.instance),
    since: record.since ?? record.host.start,
    members: () => cgroupMembers(record.cgroups),
  });
  const isGone = await removeCgroup({ dirs: record.cgroups });
  // What could not be ended is left to the next start.
  if (isClean && isGone)
    await Promise.all([file, `${file}.new`].map((one) => rm(one, { force: true })));
  return ended;
}

/** A record that could not be written after a rollout names a host that is gone, and a holder that has its processes. */
async function isHeld({ host, holder }: InstanceFile, { table, follows }: OrphanSweepOptions) {
  if (isSameProcess(host, await table.find(host.pid))) return true;
  if (holder === undefined || !isSameProcess(holder, await table.find(holder.pid))) return false;
  return follows === undefined || !isSameProcess(holder, follows);
}

async function removeIfOlder(file: string, ms: number, clock: Clock): Promise<void> {
  const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: clock.wallNow() }));
  if (clock.wallNow() - mtimeMs > ms) await rm(file, { force: true });
}

async function setAside(file: string, { notice }: OrphanSweepOptions): Promise<void> {
  await rename(file, `${file}${damaged}`);
  const remedy = `it was moved to ${file}${damaged}; delete that when no stray process is left`;
  notice(
    `${file} is damaged, so it does not show which processes a dead host left running: ${remedy}`,
  );
}

/**
 * Null when it is not valid. Its content decides which processes are killed, so every field is
 * checked.
 */
async function readRecord(file: string): Promise<InstanceFile | null> {
  const bytes = await readOwnFile(file, maxRecordBytes).catch(unlessTooLarge);
  try {
    const value: unknown = bytes && JSON.parse(bytes.toString('utf8'));
    return isInstanceFile(value) ? value : null;
  } catch {
    // Not JSON: it was not written by us to the end.
    return null;
  }
}

/** A child is about 250 bytes of it, its cgroups included: a host with 60,000 children. */
const maxRecordBytes = 16_777_216;

function unlessTooLarge(error: unknown): undefined {
  if (!(error instanceof FileTooLarge)) throw error;
}

function isInstanceFile(value: unknown): value is InstanceFile {
  const record = value as Partial<Record<keyof InstanceFile, unknown>> | null;
  return (
    typeof record === 'object' &&
    record !== null &&
    record.version === 1 &&
    typeof record.instance === 'string' &&
    record.instance !== '' &&
    typeof record.boot === 'string' &&
    typeof record.pidNamespace === 'string' &&
    isIdentity(record.host) &&
    (record.holder === undefined || isIdentity(record.holder)) &&
    (record.since === undefined || typeof record.since === 'string') &&
    Array.isArray(record.processes) &&
    record.processes.every(isIdentity) &&
    Array.isArray(record.cgroups) &&
    record.cgroups.every((dir) => typeof dir === 'string' && dir.includes('/holdfast-'))
  );
}

function isIdentity(value: unknown): value is ProcessIdentity {
  const identity = value as Partial<ProcessIdentity> | null;
  return (
    typeof identity === 'object' &&
    identity !== null &&
    Number.isInteger(identity.pid) &&
    typeof identity.start === 'string'
  );
}
