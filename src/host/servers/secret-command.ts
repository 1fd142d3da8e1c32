// Runs a command of the config for what it prints: to its end, to a limit of time or size, or until
// the start that needs it is given up. Its input is closed at once. On every exit path its whole
// process tree has ended when this is over.

import type { Clock } from '../../kernel/clock.ts';
import type { Fault } from '../../kernel/fault.ts';
import type { ChildSpec, Exit, Spawn } from '../../supervise/child.ts';
import { stopChild, stopPolicy } from '../../supervise/process/end/stop.ts';

export interface CommandRun {
  readonly spec: ChildSpec;
  readonly spawn: Spawn;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** How long it may take. */
  readonly ms: number;
  /** How much it may print. */
  readonly bytes: number;
}

export type CommandOutcome =
  | { readonly kind: 'output'; readonly bytes: Buffer }
  /** `cause` continues a sentence whose subject is the command. */
  | { readonly kind: 'failed'; readonly cause: string };

/** Throws a Fault when it cannot be started, and the reason of the signal when that ends it. */
export async function outputOf(run: CommandRun): Promise<CommandOutcome> {
  const { spec, spawn, clock, signal } = run;
  signal.throwIfAborted();
  let tellExit: (exit: Exit) => void = () => {};
  const exited = new Promise<Exit>((resolve) => {
    tellExit = resolve;
  });
  const chunks: Buffer[] = [];
  let length = 0;
  let cause: string | undefined;
  const child = await spawn(spec, {
    stdout: (chunk) => {
      length += chunk.length;
      if (length <= run.bytes) chunks.push(chunk);
      else end(`printed more than ${run.bytes} bytes`);
    },
    stderr: () => {},
    ended: () => {},
    exited: (exit) => tellExit(exit),
  });
  function end(why: string): void {
    cause ??= why;
    stopChild(child, exited, clock, stopPolicy).hurry();
  }
  const abort = () => end('was given up');
  const alarm = clock.after(run.ms, () => end(`did not end within ${run.ms} ms`));
  signal.addEventListener('abort', abort);
  try {
    if (signal.aborted) abort();
    child.closeStdin();
    const exit = await exited;
    await stopChild(child, exited, clock, stopPolicy).swept;
    if (signal.aborted) throw signal.reason as Fault;
    cause ??= failureOf(exit);
    return cause === undefined
      ? { kind: 'output', bytes: Buffer.concat(chunks) }
      : { kind: 'failed', cause };
  } finally {
    alarm[Symbol.dispose]();
    signal.removeEventListener('abort', abort);
  }
}

function failureOf({ code, signal }: Exit): string | undefined {
  if (code === 0) return undefined;
  const how = signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
  return `${how}: run it by hand to see why`;
}
