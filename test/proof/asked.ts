// The command line of a proof or of the bench. What is only printed goes to standard output; a wrong word
// is one line on standard error that says where the help is, and exit code 2.

/**
 * What is asked for; undefined when there is nothing left to do. `read` gives that, or a text to print
 * instead (its help), or throws what is wrong with the words.
 */
export function asked<T extends object>(script: string, read: () => T | string): T | undefined {
  try {
    const wish = read();
    if (typeof wish !== 'string') return wish;
    console.log(wish);
  } catch (error) {
    const [line = ''] = String(error instanceof Error ? error.message : error).split('\n');
    console.error(`${line.replace(/\. .*/, '')}; see npm run ${script} -- --help`);
    process.exitCode = 2;
  }
  return undefined;
}

/** The value of an option that is a whole number; throws if it is none, or less than `least`. */
export function wholeNumber(option: string, text: string, least = 1): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= least) return value;
  throw new Error(`--${option} takes a whole number from ${least} on, not "${text}"`);
}
