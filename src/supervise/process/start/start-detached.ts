// Starts a process that outlives this one: another Holdfast, which ends by itself. It has a session of its
// own, no terminal, and writes to a file.

import { spawn } from 'node:child_process';
import { closeSync, openSync, statSync, truncateSync } from 'node:fs';

export interface DetachedProgram {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** For this user only. */
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
  const { size } = statSync(logFile, { throwIfNoEntry: false }) ?? { size: 0 };
  if (size > maxLogBytes) truncateSync(logFile);
  const log = openSync(logFile, 'a', 0o600);
  try {
    const child = spawn(command, args, {
      env,
      cwd,
      detached: true,
      stdio: ['ignore', log, log],
    });
    const ended = new Promise<DetachedEnd>((resolve) => {
      child.on('error', () => resolve({ code: null, signal: null }));
      child.on('exit', (code, signal) => resolve({ code, signal }));
    });
    child.unref();
    return { ended };
  } finally {
    closeSync(log);
  }
}
