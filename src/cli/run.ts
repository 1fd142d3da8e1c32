// Runs the command `holdfast`: from a command line to an exit code. Every failure ends here, as one
// line on standard error, or as {"fault": …} on standard output if JSON was requested. The process
// ends only after its output was written.

import { ownIdentity } from '../host/identity.ts';
import { type Fault, faultFrom } from '../kernel/fault.ts';
import { assertLogLevel } from './command-verbosity.ts';
import { exitCodeOf, exitCodes } from './exit-codes.ts';
import { reportFaults } from './fault-report.ts';
import type { Perform } from './invocation.ts';
import { createProgram, isAnswered, nothingAsked, usageFault } from './program.ts';
import { complain, type Shell, shellOf } from './shell.ts';
import { Interrupted } from './standalone.ts';

const shell = shellOf(process);
// An internal error outside every call; the reaper ends what was running.
process.on('uncaughtException', (error) => process.exit(report(error, false, shell)));
const exitCode = await run(process.argv.slice(2), shell);
await Promise.all([shell.out.flushed(), shell.err.flushed()]);
process.exit(outputLost(shell) ? exitCodes.unavailable : exitCode);

async function run(argv: readonly string[], shell: Shell): Promise<number> {
  let code: number = exitCodes.ok;
  const perform: Perform = async (command, work) => {
    const { config, json } = command.optsWithGlobals<{ config?: string; json?: boolean }>();
    code = await work({ shell, configFile: config, isJson: json === true });
  };
  const program = createProgram(shell, ownIdentity().version, perform);
  try {
    assertLogLevel(shell.env['HOLDFAST_LOG']);
    if (argv.length === 0) throw nothingAsked();
    await program.parseAsync(argv, { from: 'user' });
    return code;
  } catch (error) {
    if (isAnswered(error)) return exitCodes.ok;
    return report(usageFault(error, program, argv), argv.includes('--json'), shell);
  }
}

function report(error: unknown, isJson: boolean, shell: Shell): number {
  const { interrupt, out, err } = shell;
  const fault = error instanceof Interrupted ? null : faultFrom(error);
  if (interrupt.exitCode !== undefined) {
    // A user who interrupts a call wants to know whether it may have run.
    if (fault !== null && fault.dispatched !== 'no') complain(shell, interruptedText(fault));
    return interrupt.exitCode;
  }
  if (fault === null) return exitCodes.ok;
  if (isJson) out.json({ fault: fault.record });
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

function outputLost({ out }: Shell): boolean {
  if (out.failure === null) return false;
  complain(
    shell,
    `the output could not be written (${out.failure}); check the disk or the pipe that it goes to`,
  );
  return true;
}
