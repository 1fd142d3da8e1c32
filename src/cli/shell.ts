// Everything around a command: its streams, environment, working directory and time. Commands get
// it as an argument and use nothing else of the process.

import type { Clock } from '../kernel/clock.ts';
import { printableLine } from '../kernel/printable.ts';
import { systemClock } from '../kernel/system-clock.ts';
import type { HolderClient } from '../rollout/holder-client.ts';
import { includes, type LogLevel, logLevelFrom } from './command-verbosity.ts';
import { Interrupt } from './interrupt.ts';
import { type NextSteps, nextSteps } from './next-step.ts';
import { Output } from './output.ts';

export interface Shell {
  readonly out: Output;
  readonly err: Output;
  readonly stdin: AsyncIterable<Buffer>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly clock: Clock;
  readonly interrupt: Interrupt;
  logs(level: LogLevel): boolean;
  /** For every message that may advise a command. */
  readonly steps: NextSteps;
  /** In a serving process: what started it, and what its pid is known by. */
  readonly holder?: HolderClient | undefined;
}

export function shellOf(real: NodeJS.Process, holder?: HolderClient): Shell {
  const { env, stdin } = real;
  const interrupt = new Interrupt();
  interrupt.listen(real, holder);
  const level = logLevelFrom(env['HOLDFAST_LOG']);
  return {
    out: new Output(real.stdout as NodeJS.WriteStream, env),
    err: new Output(real.stderr as NodeJS.WriteStream, env),
    stdin,
    env,
    cwd: real.cwd(),
    clock: systemClock,
    interrupt,
    logs: (asked) => includes(level, asked),
    steps: nextSteps(undefined),
    holder,
  };
}

/** The same for a command line that names this config. */
export function withConfig(shell: Shell, configFile: string | undefined): Shell {
  return { ...shell, steps: nextSteps(configFile) };
}

/** One line on standard error, in the name of the program. */
export function complain(shell: Shell, text: string): void {
  const { err } = shell;
  err.line(`${err.style('red', 'holdfast:')} ${printableLine(shell.steps(text))}`);
}

/** The same for what is of interest only where each step is. */
export function detail(shell: Shell, text: string): void {
  if (shell.logs('debug')) shell.err.line(`holdfast: ${printableLine(text)}`);
}

/** The same for warnings. */
export function remark(shell: Shell, text: string): void {
  const { err } = shell;
  if (shell.logs('warn')) {
    err.line(`${err.style('yellow', 'holdfast:')} ${printableLine(shell.steps(text))}`);
  }
}
