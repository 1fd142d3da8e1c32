// Starts a process, from a command line to a pid: the leader of its own session, with pipes for its
// streams. Every failure becomes a Fault. This process is its parent, or the holder of a gateway is.
// `child-streams.ts` handles the streams and `process-tree.ts` the tree.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { Clock } from '../../../kernel/clock.ts';
import { Fault } from '../../../kernel/fault.ts';
import { ownValue } from '../../../kernel/own-value.ts';
import { shortageOf } from '../../../kernel/shortage.ts';
import { reportDescriptor } from '../contain/pid-namespace.ts';
import { ChildStreams } from './child-streams.ts';
import type { ProcessHolder, StartedProcess, StartPlan } from './process-starter.ts';

export interface LaunchPlan extends StartPlan {
  /** The server's name, for the fault. */
  readonly server: string;
  /** What the user asked for, for the fault. */
  readonly command: string;
}

export interface Launched {
  /** The process we started; it leads the group. */
  readonly pid: number;
  readonly streams: ChildStreams;
  /** Where a wrapper reports that the server exists. */
  readonly report: Readable | null;
}

/**
 * Throws a Fault when the process cannot be started: `unavailable`, or `overloaded` for a shortage
 * of the host.
 */
export async function launch(
  plan: LaunchPlan,
  clock: Clock,
  holder: ProcessHolder | undefined,
): Promise<Launched> {
  try {
    const started = await (holder === undefined ? start(plan) : holder.start(plan));
    const { pid, report } = started;
    return { pid, report, streams: new ChildStreams(started, clock) };
  } catch (cause) {
    // Some errors are thrown (E2BIG, a NUL byte in an argument), the others come as an event.
    if (cause instanceof Fault) throw cause;
    throw refusal(plan, cause);
  }
}

/** Waits until the server exists; false when its wrapper ended without reporting it. */
export async function hasReported(report: Readable): Promise<boolean> {
  let isThere = false;
  try {
    for await (const _ of report) isThere = true;
  } catch {
    // A broken pipe says the same as an empty one.
  }
  return isThere;
}

async function start(plan: LaunchPlan): Promise<StartedProcess> {
  const [file = '', ...args] = plan.line;
  const started = spawn(file, args, {
    env: plan.env,
    cwd: plan.cwd,
    // Its own session and group: our signals reach all of it, and those of our terminal do not.
    detached: true,
    shell: false,
    stdio: plan.hasReport ? ['pipe', 'pipe', 'pipe', 'pipe'] : ['pipe', 'pipe', 'pipe'],
  });
  const { pid, stdin, stdout, stderr } = started;
  if (pid === undefined) {
    // The error is on its way as an event.
    const [cause] = await once(started, 'error');
    throw cause;
  }
  if (stdin === null || stdout === null || stderr === null) {
    started.kill('SIGKILL');
    throw new Fault('internal', `'${plan.command}' was started without its pipes`);
  }
  const report = (started.stdio[reportDescriptor] ?? null) as Readable | null;
  return { pid, events: started, stdin, stdout, stderr, report };
}

function refusal({ server, command }: LaunchPlan, cause: unknown): Fault {
  const code = (cause as NodeJS.ErrnoException).code ?? 'unknown error';
  const shortage = shortageOf(cause);
  const reason = shortage ?? ownValue(reasons, code) ?? code;
  const detail = `the command '${command}' could not be started: ${reason}`;
  const kind = shortage === undefined ? 'unavailable' : 'overloaded';
  return new Fault(kind, detail, { server, dispatched: 'no' }, cause);
}

const reasons: Readonly<Record<string, string>> = {
  E2BIG: 'its arguments and environment are too long (E2BIG)',
  EACCES: 'permission denied (EACCES)',
  ENOENT: 'it was removed meanwhile (ENOENT)',
  ENOEXEC: 'it is not a program for this machine (ENOEXEC)',
  ERR_INVALID_ARG_VALUE: 'a NUL byte in its arguments or environment',
};
