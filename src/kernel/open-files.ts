// How many files and connections this process may have open, and how they are shared out: what is let in from outside
// leaves room for what the process opens itself.

import { readFileSync } from 'node:fs';

/** Where it is not known. */
const usualMost = 1_024;
/** More are not needed, however many there may be. */
const mostStrangers = 1_024;
const fewestStrangers = 16;

export interface OpenFileShares {
  /** Connections of which it is not known yet whose they are. */
  readonly strangers: number;
  /** Those of which it is. */
  readonly guests: number;
}

/** Of this process. */
export function openFileShares(limitsFile = '/proc/self/limits'): OpenFileShares {
  return sharesOf(mostOpenFiles(limitsFile));
}

/** A quarter for strangers, half for guests; the rest is for files, servers and databases. */
export function sharesOf(most: number): OpenFileShares {
  const strangers = Math.max(fewestStrangers, Math.min(mostStrangers, Math.floor(most / 4)));
  return { strangers, guests: Math.max(fewestStrangers, Math.floor(most / 2)) };
}

function mostOpenFiles(limitsFile: string): number {
  try {
    const line = /^Max open files +(\d+)/m.exec(readFileSync(limitsFile, 'latin1'));
    return line === null ? usualMost : Number(line[1]);
  } catch {
    // Another system than Linux has no such file.
    return usualMost;
  }
}
