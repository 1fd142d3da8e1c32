// Processes that only sleep, and can be found by a tag on their command line whatever has become of
// their parents, sessions, environments and pid namespaces.

import { readdirSync, readFileSync } from 'node:fs';
import {
  isSameProcess,
  type ProcessIdentity,
} from '../../src/supervise/process/watch/process-table.ts';
import { systemProcesses } from '../../src/supervise/process/watch/system-processes.ts';
import { until } from './until.ts';

/** The program; its argument is the tag. */
export const sleeper = new URL('../fixtures/processes/sleeper.sh', import.meta.url).pathname;

const table = systemProcesses();
let tags = 0;

/** Digits that nobody else uses. */
export function newTag(): string {
  return `${process.pid}${String(++tags).padStart(5, '0')}9`;
}

/** The living sleepers with this tag, when there are as many as expected. */
export async function sleepersWith(tag: string, count = 1): Promise<ProcessIdentity[]> {
  let pids: number[] = [];
  await until(() => {
    pids = pidsWith(tag);
    return pids.length === count;
  }, `${count} sleepers are there`);
  return identified(pids);
}

export async function identified(pids: readonly number[]): Promise<ProcessIdentity[]> {
  const rows = await Promise.all(pids.map((pid) => table.find(pid)));
  return rows.filter((row) => row !== null);
}

/** Those of them that have not ended. */
export async function stillAlive<T extends ProcessIdentity>(all: readonly T[]): Promise<T[]> {
  const rows = await Promise.all(all.map(({ pid }) => table.find(pid)));
  return all.filter((one, at) => {
    const row = rows[at] ?? null;
    return isSameProcess(one, row) && row?.isZombie === false;
  });
}

function pidsWith(tag: string): number[] {
  const line = `sleep\0${1000}\0${`0.0${tag}`}\0`;
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      try {
        return pid > 0 && readFileSync(`/proc/${pid}/cmdline`, 'latin1') === line;
      } catch {
        // It has ended meanwhile.
        return false;
      }
    });
}
