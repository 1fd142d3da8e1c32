// Starts a process that outlives this one: another Holdfast, which ends by itself. It has a session of its
// own, no terminal, and writes to a file.

import { spawn } from 'node:child_process';
import { closeSync, constants, fstatSync, ftruncateSync, openSync } from 'node:fs';
import { fileFlaw } from '../../../kernel/own-file.ts';

export interface DetachedProgram {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** For this user only. If it is something else, or cannot be written, nothing is. */
  readonly logFile: string;
}

/** How it ended; neither a code nor a signal if it could not be started. */
export interface DetachedEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Detached {
  /** Resolves if it ends, or could not be started, while this process is there. */
  readonly ended: Promise<DetachedEnd>;
}

/** A log that is larger is begun anew. */
const maxLogBytes = 1_048_576;

export function startDetached({ command, args, env, cwd, logFile }: DetachedProgram): Detached {
  const log = openedLog(logFile);
  try {
    const output = log ?? 'ignore';
    const child = spawn(command, args, {
      env,
      cwd,
      detached: true,
      stdio: ['ignore', output, output],
    });
    const ended = new Promise<DetachedEnd>((resolve) => {
      child.on('error', () => resolve({ code: null, signal: null }));
      child.on('exit', (code, signal) => resolve({ code, signal }));
    });
    child.unref();
    return { ended };
  } finally {
    if (log !== undefined) closeSync(log);
  }
}

/** Neither through a link nor waiting for a pipe. */
const careful = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
const appending = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | careful;

function openedLog(file: string): number | undefined {
  let log: number;
  try {
    log = openSync(file, appending, 0o600);
  } catch {
    return undefined;
  }
  const found = fstatSync(log);
  if (fileFlaw(found) === undefined) {
    if (found.size > maxLogBytes) ftruncateSync(log);
    return log;
  }
  closeSync(log);
  return undefined;
}
