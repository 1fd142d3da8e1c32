// Starts a process that outlives this one: another Holdfast, which ends by itself. It has a session of its
// own, no terminal, and writes to a file.

import { spawn } from 'node:child_process';
import { closeSync, constants, fstatSync, ftruncateSync, openSync } from 'node:fs';
import { errnoOf } from '../../../kernel/errno.ts';
import { fileFlaw } from '../../../kernel/own-file.ts';

export interface DetachedProgram {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** For this user only. If it is something else, or cannot be written, nothing is. */
  readonly logFile: string;
}

/** How it ended; neither a code nor a signal, but the system's error, if it could not be started. */
export interface DetachedEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly error: string | null;
}

export interface Detached {
  /** Resolves if it ends, or could not be started, while this process is there. */
  readonly ended: Promise<DetachedEnd>;
  /** How long the log was before it was started: what follows is its own. */
  readonly logFrom: number;
}

/** A log that is larger is begun anew. */
const maxLogBytes = 1_048_576;

export function startDetached({ command, args, env, cwd, logFile }: DetachedProgram): Detached {
  const log = openedLog(logFile);
  try {
    const output = log ?? 'ignore';
    const logFrom = log === undefined ? 0 : fstatSync(log).size;
    const ended = new Promise<DetachedEnd>((resolve) => {
      // Node throws some errors of the system and emits others.
      const failed = (error: unknown) =>
        resolve({ code: null, signal: null, error: errnoOf(error) ?? String(error) });
      try {
        const child = spawn(command, args, {
          env,
          cwd,
          detached: true,
          stdio: ['ignore', output, output],
        });
        child.on('error', failed);
        child.on('exit', (code, signal) => resolve({ code, signal, error: null }));
        child.unref();
      } catch (error) {
        failed(error);
      }
    });
    return { ended, logFrom };
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
