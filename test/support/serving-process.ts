// The serving process below a pid-holder, for tests that do something to it alone.

import { readFileSync } from 'node:fs';
import { systemProcesses } from '../../src/supervise/process/watch/system-processes.ts';
import { until } from './until.ts';

const table = systemProcesses();

/** Those that are there now: more than one in a rollout. */
export async function servingPids(holder: number): Promise<readonly number[]> {
  const rows = await table.rows();
  return rows
    .filter((row) => row.parent === holder && !row.isZombie && isServing(row.pid))
    .map(({ pid }) => pid);
}

/** The only one, when there is one that is not among these. */
export async function servingPid(
  holder: number,
  former: readonly (number | undefined)[] = [],
): Promise<number> {
  let found: number | undefined;
  await until(async () => {
    const others = (await servingPids(holder)).filter((pid) => !former.includes(pid));
    found = others[0];
    return others.length === 1;
  }, `process ${holder} has one serving process`);
  return found as number;
}

/** By the variable that the holder gives it: before it has become another program, any child looks like the holder. */
function isServing(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').includes('HOLDFAST_HOLDER=');
  } catch {
    return false;
  }
}

/** What works where this process is a pid-holder, and otherwise the process itself: for what is measured. */
export function workingPid(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1');
    return text.split(' ').filter(Boolean).map(Number).findLast(isServing) ?? pid;
  } catch {
    return pid;
  }
}
