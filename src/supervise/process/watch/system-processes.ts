// Reads the processes of this machine, from /proc or `ps`.

import { existsSync, readlinkSync } from 'node:fs';
import type { ProcessTable } from './process-table.ts';
import { procfsTable } from './procfs-table.ts';
import { psTable } from './ps-table.ts';

/** `procDir` is an argument for the sake of tests on machines that have it. */
export function systemProcesses(procDir = '/proc'): ProcessTable {
  return existsSync(`${procDir}/self/stat`) ? procfsTable(procDir) : psTable;
}

/**
 * Inside a pid namespace without its own /proc every number in /proc belongs to another namespace.
 */
export function isForeign(procDir = '/proc'): boolean {
  try {
    return readlinkSync(`${procDir}/self`) !== String(process.pid);
  } catch {
    // There is none.
    return false;
  }
}
