// Runs the command `holdfast`: from a command line to an exit code. Every failure that was not
// reported before is reported here. The process ends only after its output was written.

import { ownIdentity } from '../host/identity.ts';
import { type HolderClient, holderOf } from '../rollout/holder-client.ts';
import { report } from './command-failure.ts';
import { assertLogLevel } from './command-verbosity.ts';
import { exitCodes } from './exit-codes.ts';
import type { Perform } from './invocation.ts';
import {
  assertKnownCommand,
  createProgram,
  isAnswered,
  nothingAsked,
  usageFault,
} from './program.ts';
import { complain, remark, type Shell, shellOf, withConfig } from './shell.ts';

const holder = ownHolder();
const shell = shellOf(process, holder);
holder?.listen({ notice: (text) => remark(shell, text) });
// An internal error outside every call; the reaper ends what was running.
process.on('uncaughtException', (error) => exit(report(error, { shell, isJson: false }), false));
const exitCode = await run(process.argv.slice(2), shell);
await Promise.all([shell.out.flushed(), shell.err.flushed()]);
exit(outputLost(shell) ? exitCodes.unavailable : exitCode);

/** A holder of another version may have started this one. */
function ownHolder(): HolderClient | undefined {
  try {
    return holderOf(process);
  } catch (error) {
    process.exit(report(error, { shell: shellOf(process), isJson: false }));
  }
}

/** Waits for a thread that a disk holds up; a signal ends that. */
function exit(code: number, isInOrder = true): never {
  holder?.exiting(isInOrder);
  shell.interrupt.release(process);
  process.exit(code);
}

async function run(argv: readonly string[], shell: Shell): Promise<number> {
  let code: number = exitCodes.ok;
  let asked = shell;
  const perform: Perform = async (command, work) => {
    const { config, json } = command.optsWithGlobals<{ config?: string; json?: boolean }>();
    asked = withConfig(shell, config);
    code = await work({ shell: asked, configFile: config, isJson: json === true });
  };
  const program = createProgram(shell, ownIdentity().version, perform);
  try {
    assertLogLevel(shell.env['HOLDFAST_LOG']);
    if (argv.length === 0) throw nothingAsked();
    assertKnownCommand(program, argv);
    await program.parseAsync(argv, { from: 'user' });
    return code;
  } catch (error) {
    if (isAnswered(error)) return exitCodes.ok;
    const isJson = argv.includes('--json');
    return report(usageFault(error, program, argv), { shell: asked, isJson });
  }
}

function outputLost({ out }: Shell): boolean {
  if (out.failure === null) return false;
  complain(
    shell,
    `the output could not be written (${out.failure}); check the disk or the pipe that it goes to`,
  );
  return true;
}
