// What every command is given, besides its own words: the shell and the options that all commands
// share. A command is a function from this to an exit code; a fault that it throws is reported for it.

import type { Command } from 'commander';
import type { Shell } from './shell.ts';

export interface Invocation {
  readonly shell: Shell;
  /** What `--config` names. */
  readonly configFile: string | undefined;
  readonly isJson: boolean;
}

/** Runs a command's work for commander and keeps its exit code. */
export type Perform = (
  command: Command,
  work: (invocation: Invocation) => Promise<number>,
) => Promise<void>;
