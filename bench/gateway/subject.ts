// Something between a client and the lean server that can be put under load. What it costs is read
// from the outside: its own processor time and memory, without its server's.

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Load, Report } from './load.ts';
import { cpuSeconds, descendantsOf, ownProcesses, residentMb } from './procfs.ts';

export interface Subject extends AsyncDisposable {
  readonly name: string;
  readonly pid: number;
  run(load: Load, seconds: number): Promise<Report>;
}

export interface Sample extends Report {
  readonly cpuUsPerCall: number;
  readonly residentMb: number;
  /** Shares of one core. */
  readonly subjectBusy: number;
  readonly upstreamBusy: number;
}

export async function sample(subject: Subject, load: Load, seconds: number): Promise<Sample> {
  const { pid } = subject;
  const own = ownProcesses(pid);
  const below = descendantsOf(pid).filter((one) => !own.includes(one));
  const upstreamBefore = total(below);
  const before = total(own);
  const startedAt = performance.now();
  const report = await subject.run(load, seconds);
  const elapsedSeconds = (performance.now() - startedAt) / 1000;
  const spent = total(own) - before;
  return {
    ...report,
    cpuUsPerCall: (spent / report.calls) * 1e6,
    residentMb: own.reduce((sum, one) => sum + residentMb(one), 0),
    subjectBusy: spent / elapsedSeconds,
    upstreamBusy: (total(below) - upstreamBefore) / elapsedSeconds,
  };
}

function total(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0);
}

/** Ends a subject the way it should be ended, and whatever of it is left after that. */
export async function stopProcess(child: ChildProcess, end: () => void): Promise<void> {
  const pids = [child.pid as number, ...descendantsOf(child.pid as number)];
  if (child.exitCode === null && child.signalCode === null) {
    const exited = once(child, 'exit');
    end();
    await Promise.race([exited, pause(5_000)]);
  }
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended by itself, as it should.
    }
  }
}
