// The numbers a script decides by. A fault brings its own from the fault table; the others are what
// a command may end with besides. They are part of the contract and never change their meaning.

import { type Fault, faultTable } from '../kernel/fault.ts';

export const exitCodes = {
  ok: 0,
  /** The tool said isError, the server answered with an error, or a check found something. */
  failed: 1,
  /** The command line or the config is wrong, or names what does not exist. */
  usage: 2,
  /** A server, or the place the output goes to, is not available. */
  unavailable: 3,
} as const;

export function exitCodeOf(fault: Fault): number {
  return faultTable[fault.code].exit;
}

/** What shells report of a program that a signal has ended. */
export const signalExitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
