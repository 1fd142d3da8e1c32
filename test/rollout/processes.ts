// The processes of an instance, as the system sees them: the pid-holder, the serving processes below it, and everything
// else, which are servers and what contains them.

import { readdirSync, readFileSync } from 'node:fs';
import { below, type ProcessRow } from '../../src/supervise/process/watch/process-table.ts';
import { systemProcesses } from '../../src/supervise/process/watch/system-processes.ts';
import { mainProgram } from '../support/build.ts';

const table = systemProcesses();

export interface Processes {
  /** In the order in which they were started. */
  readonly serving: readonly number[];
  readonly others: readonly number[];
}

export async function processesOf(holder: number): Promise<Processes> {
  const rows = below(holder, await table.rows()).filter(({ isZombie }) => !isZombie);
  const isServing = ({ pid, parent }: ProcessRow) => parent === holder && isServe(pid);
  const pids = (chosen: readonly ProcessRow[]) =>
    chosen.map(({ pid }) => pid).sort((a, b) => a - b);
  return {
    serving: pids(rows.filter(isServing)),
    others: pids(rows.filter((row) => !isServing(row))),
  };
}

export function isAlive(pid: number): boolean {
  try {
    const state = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.[0];
    return state !== 'Z' && state !== 'X';
  } catch {
    return false;
  }
}

export function residentMiB(pid: number): number {
  try {
    const kib = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
    return Number(kib ?? 0) / 1_024;
  } catch {
    return 0;
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

function isServe(pid: number): boolean {
  return commandOf(pid).includes(`${mainProgram} serve`);
}

/** With this text in their command line, of whomever they are. */
export function processesNaming(text: string): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map((name) => `${name} ${commandOf(Number(name))}`)
    .filter((line) => line.includes(text));
}
