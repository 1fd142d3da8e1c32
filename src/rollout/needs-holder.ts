// Whether a command line is one that the pid-holder runs: `holdfast serve`, unless a holder has started this process
// already. Decided from the words alone, before anything of the program is loaded: what is wrong with them is said by
// the serving process.

import { holderVariable } from './holder/holder-variable.ts';

export interface StartedAs {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly platform: string;
}

/** Options of every command that have a value in the next word. */
const withValue: readonly string[] = ['--config'];
const answeredAtOnce: readonly string[] = ['--help', '-h', '--version', '-V', '--no-holder'];
/** A descriptor that was inherited: it is not passed on, and can be read only once. */
const descriptorPath = /\/(?:dev|proc\/(?:self|thread-self|\d+))\/fd\/\d+|\/dev\/stdin/;

export function needsHolder({ argv, env, pid, platform }: StartedAs): boolean {
  if (env[holderVariable] !== undefined || platform === 'win32') return false;
  // It runs itself below an init first.
  if (pid === 1) return false;
  const words = argv.slice(2);
  if (commandOf(words) !== 'serve' || words.some((word) => answeredAtOnce.includes(word))) {
    return false;
  }
  return ![...words, env['HOLDFAST_CONFIG'] ?? ''].some((word) => descriptorPath.test(word));
}

/** The first word that is neither an option nor the value of one. */
function commandOf(words: readonly string[]): string | undefined {
  return words.find(
    (word, at) => !word.startsWith('-') && !withValue.includes(words[at - 1] ?? ''),
  );
}
