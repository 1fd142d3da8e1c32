// The exit codes. A fault has its own in the fault table; the others are the remaining ways in
// which a command can end. They are part of the contract and never change their meaning.

import { type Fault, faultTable } from '../kernel/fault.ts';

export const exitCodes = {
  ok: 0,
  /** The tool returned isError, the server answered with an error, or a check found something. */
  failed: 1,
  /** The command line or the config is wrong, or names something that does not exist. */
  usage: 2,
  /** A server, the output, or a part of what has to be checked is not available. */
  unavailable: 3,
} as const;

export function exitCodeOf(fault: Fault): number {
  return faultTable[fault.code].exit;
}

/** The code that shells report for a program that was ended by a signal. */
export const signalExitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
