// What every command gets besides its own arguments: the shell and the options that all commands
// share. A command is a function from this to an exit code; a fault that it throws is reported for
// it.

import type { Command } from 'commander';
import type { Shell } from './shell.ts';

export interface Invocation {
  readonly shell: Shell;
  /** The file named by `--config`. */
  readonly configFile: string | undefined;
  readonly isJson: boolean;
}

/** Runs a command's work for commander and keeps its exit code. */
export type Perform = (
  command: Command,
  work: (invocation: Invocation) => Promise<number>,
) => Promise<void>;
