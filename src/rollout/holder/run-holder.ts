// Runs this process as the pid-holder of `holdfast serve`, and ends it as its serving process has ended. Loaded by the
// command line before anything else of the program is: what this file imports is all that the holder has in memory.

import { constants } from 'node:os';
import { isatty } from 'node:tty';
import { ignored } from '../../kernel/contain.ts';
import { systemClock } from '../../kernel/system-clock.ts';
import { systemProcesses } from '../../supervise/process/watch/system-processes.ts';
import { Holder } from './holder.ts';
import { forwardedSignals, type HeldExit } from './messages.ts';
import { ownProgramFile } from './program-file.ts';

/** `args`: the words after the program's file. */
export async function runHolder(program: string, args: readonly string[]): Promise<void> {
  const holder = new Holder({
    clock: systemClock,
    table: systemProcesses(),
    file: ownProgramFile(program),
    args,
    startsAgain: !args.includes('--stdio'),
    complain: (text) => void process.stderr.write(`holdfast: ${text}\n`),
  });
  // Nobody may read them any more, and serving processes are started all the same.
  process.stderr.on('error', ignored);
  const hadTerminal = hasTerminal();
  for (const name of forwardedSignals) {
    process.on(name, () => {
      // SIGHUP is also what a terminal says that is being closed: then nobody wants a rollout.
      if (name !== 'SIGHUP' || (hadTerminal && !hasTerminal())) holder.signal(name);
      else holder.hangup();
    });
  }
  process.on('SIGQUIT', () => holder.quit());
  // Such as a line of a serving process that is no message, which Node reads before anybody here does. Everything of the
  // instance hangs on this process, and the serving process that does such things is found out by its silence.
  process.on('uncaughtException', (error) => holder.unexpected(error));
  end(await holder.run());
}

/** Of one that was closed, the system says that it is none. */
function hasTerminal(): boolean {
  return [0, 1, 2].some((descriptor) => isatty(descriptor));
}

function end({ code, signal }: HeldExit): void {
  if (signal === null) process.exit(code ?? 1);
  for (const name of [...forwardedSignals, 'SIGQUIT'] as const) process.removeAllListeners(name);
  process.kill(process.pid, signal);
  // Process 1 is not ended by a signal.
  process.exit(128 + constants.signals[signal]);
}
