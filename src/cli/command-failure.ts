// How the failure of a command is reported: one line on standard error, or {"fault": …} on standard
// output if JSON was requested, and an exit code. It is printed when it happens: stopping servers
// may take seconds, and a second Ctrl-C ends that at once.

import { type Fault, faultFrom } from '../kernel/fault.ts';
import { exitCodeOf, exitCodes } from './exit-codes.ts';
import { advised, reportFaults } from './fault-report.ts';
import { Interrupted } from './interrupt.ts';
import { complain, type Shell } from './shell.ts';

/** Thrown in place of a failure that has been printed; what is left of it is the exit code. */
export class Reported extends Error {
  override readonly name = 'Reported';
  readonly exitCode: number;

  constructor(exitCode: number, cause: unknown) {
    super('the failure was reported', { cause });
    this.exitCode = exitCode;
  }
}

interface Asked {
  readonly shell: Shell;
  readonly isJson: boolean;
}

/** Prints the failure of this work before the caller cleans up. Throws `Reported`. */
export async function reportedAtOnce<T>(asked: Asked, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new Reported(report(error, asked), error);
  }
}

/** Prints the failure, unless that was done before, and returns the exit code. */
export function report(error: unknown, { shell, isJson }: Asked): number {
  if (error instanceof Reported) return error.exitCode;
  const { interrupt, out, err } = shell;
  const fault = error instanceof Interrupted ? null : faultFrom(error);
  if (interrupt.exitCode !== undefined) {
    // A user who interrupts a call wants to know whether it may have run.
    if (fault !== null && fault.dispatched !== 'no') complain(shell, interruptedText(fault));
    return interrupt.exitCode;
  }
  if (fault === null) return exitCodes.ok;
  if (isJson) out.json({ fault: advised(fault.record, shell.steps) });
  else reportFaults(shell, [fault.record]);
  if (shell.logs('debug')) err.line(stackOf(fault));
  return exitCodeOf(fault);
}

function interruptedText({ record: { server, tool } }: Fault): string {
  const what = tool === undefined ? `a request to ${server}` : `${server}/${tool}`;
  return `interrupted; ${what} had been sent and may have run`;
}

function stackOf(fault: Fault): string {
  const { cause } = fault;
  return (cause instanceof Error ? cause.stack : fault.stack) ?? fault.message;
}
