// The processes of this machine, as well as it shows them.

import { existsSync, readlinkSync } from 'node:fs';
import type { ProcessTable } from './process-table.ts';
import { procfsTable } from './procfs-table.ts';
import { psTable } from './ps-table.ts';

/** `procDir` is an argument for the sake of tests on machines that have it. */
export function systemProcesses(procDir = '/proc'): ProcessTable {
  return existsSync(`${procDir}/self/stat`) ? procfsTable(procDir) : psTable;
}

/** Inside a pid namespace without a /proc of its own every number in /proc is somebody else's. */
export function isForeign(procDir = '/proc'): boolean {
  try {
    return readlinkSync(`${procDir}/self`) !== String(process.pid);
  } catch {
    // There is none.
    return false;
  }
}
