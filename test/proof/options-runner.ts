// Evaluates the program of a proof once for each list of arguments, in one process, and prints what each
// wrote and its exit code as JSON: a process for each would take a second of the tests. Only for
// arguments that are refused, because nothing else of the program must run.

import { pathToFileURL } from 'node:url';

interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const [file = '', lists = '[]'] = process.argv.slice(2);
const runs: Run[] = [];
const print = console.log;
for (const [number, args] of (JSON.parse(lists) as string[][]).entries()) {
  const written = { stdout: '', stderr: '' };
  console.log = (line: string) => {
    written.stdout += `${line}\n`;
  };
  console.error = (line: string) => {
    written.stderr += `${line}\n`;
  };
  process.argv = [process.execPath, file, ...args];
  process.exitCode = 0;
  await import(`${pathToFileURL(file).href}?${number}`);
  runs.push({ code: Number(process.exitCode), ...written });
}
process.exitCode = 0;
print(JSON.stringify(runs));
