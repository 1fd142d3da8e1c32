// Holdfast as process 1, as in a container without an init. Every process there that loses its
// parent becomes a child of process 1, and stays a zombie until process 1 waits for it. Node waits
// only for the children it has started. So the program is run again, below a small shell that waits
// for all processes and forwards signals. The shell gets the orphans because it replaces process 1,
// or, where this Node cannot replace itself (before 22.15), because it is made the "subreaper" of
// all its descendants. Perl can make that system call; the setting survives `exec`.

import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { constants as system } from 'node:os';
import { isatty } from 'node:tty';

/**
 * Runs its arguments, waits for everything that becomes its child, and exits as they do. A signal
 * of the terminal reaches all processes by itself; any other is sent to process 1 only. A shell
 * takes the input away from background jobs; it is passed on by another descriptor.
 */
const init = `
child=
trap 'kill -TERM $child' TERM
trap 'kill -HUP $child' HUP
if [ -t 0 ]; then trap '' INT; else trap 'kill -INT $child' INT; fi
exec 3<&0
"$@" <&3 3<&- &
child=$!
exec 3<&- </dev/null
while :; do
  wait $child
  code=$?
  kill -0 $child 2>/dev/null || exit $code
done
`;

const shell = '/bin/sh';
const perl = '/usr/bin/perl';
const notSet = 120;

/** prctl(PR_SET_CHILD_SUBREAPER, 1), by the number that the call has here. */
const systemCalls: ReadonlyMap<string, number> = new Map([
  ['x64', 157],
  ['arm64', 167],
  ['arm', 172],
  ['riscv64', 167],
  ['ppc64', 171],
  ['s390x', 172],
]);
const subreaper = (call: number) =>
  `syscall(${call}, 36, 1, 0, 0, 0) == 0 or exit ${notSet}; exec { $ARGV[0] } @ARGV; exit ${notSet}`;

/** Signals that are sent to process 1 and meant for the program. */
const passedOn = ['SIGTERM', 'SIGHUP', 'SIGINT'] as const;

export type InitOutcome =
  | { readonly kind: 'ended'; readonly code: number }
  /** It is not possible here; the program must run as process 1 itself. */
  | { readonly kind: 'impossible' };

/** Only a process 1 needs an init. */
export function needsInit(own: { readonly pid: number; readonly platform: string }): boolean {
  return own.pid === 1 && own.platform === 'linux';
}

/** Runs this program below an init; does not return where the process can be replaced. */
export async function runUnderInit(): Promise<InitOutcome> {
  const again = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const line = [shell, '-c', init, 'holdfast', ...again];
  const { execve } = process as { execve?: (file: string, args: readonly string[]) => void };
  if (execve !== undefined && isExecutable(shell)) execve.call(process, shell, line);
  const call = systemCalls.get(process.arch);
  if (call === undefined || !isExecutable(shell) || !isExecutable(perl)) {
    return { kind: 'impossible' };
  }
  return await run([perl, '-e', subreaper(call), ...line]);
}

function run([file = '', ...args]: readonly string[]): Promise<InitOutcome> {
  return new Promise((resolve) => {
    const child = spawn(file, args, { stdio: 'inherit' });
    const isTerminal = isatty(0);
    for (const name of passedOn) {
      process.on(name, () => {
        if (name !== 'SIGINT' || !isTerminal) child.kill(name);
      });
    }
    child.once('error', () => resolve({ kind: 'impossible' }));
    child.once('exit', (code, signal) => {
      if (code === notSet) resolve({ kind: 'impossible' });
      else resolve({ kind: 'ended', code: code ?? 128 + system.signals[signal ?? 'SIGKILL'] });
    });
  });
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
