// A host program of its own (test/fixtures/processes/host.mjs) that a test may kill, and what it
// has said so far.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Containment, Exit } from '../../src/supervise/child.ts';
import type { SpawnerOptions } from '../../src/supervise/process/start/spawn.ts';
import { buildFolder } from './build.ts';
import { until } from './until.ts';

const program = new URL('../fixtures/processes/host.mjs', import.meta.url).pathname;
const root = new URL('../..', import.meta.url).pathname;

export type HostLine =
  | { kind: 'started'; name: string; pid: number; containment: Containment }
  | { kind: 'printed' | 'stderr'; name: string; text: string }
  | { kind: 'exited'; name: string; exit: Exit }
  | { kind: 'tick'; ticks: number }
  | { kind: 'notice'; message: string }
  | { kind: 'ready' };

export interface DoomedHost {
  readonly process: ChildProcess;
  readonly pid: number;
  readonly lines: readonly HostLine[];
  /** Waits until one of its lines is like this. */
  said(isIt: (line: HostLine) => boolean, what: string): Promise<void>;
  kill(): Promise<void>;
}

export interface HostPlan {
  readonly options: Partial<Omit<SpawnerOptions, 'clock' | 'notice' | 'sourceEnv'>>;
  readonly children: Readonly<Record<string, readonly string[]>>;
  /** A command line to run it with, such as one that changes the user. */
  readonly prefix?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** The directory to run it in, and its command line. */
export function hostCommand({ options, children }: HostPlan): readonly string[] {
  const plan = JSON.stringify({ build: buildFolder, options, children });
  return [root, process.execPath, program, plan];
}

export function startHost(plan: HostPlan): DoomedHost {
  const { prefix = [], env = {} } = plan;
  const [file = '', ...args] = [...prefix, ...hostCommand(plan).slice(1)];
  const host = spawn(file, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const lines: HostLine[] = [];
  let complaints = '';
  host.stderr.on('data', (chunk: Buffer) => {
    complaints += String(chunk);
  });
  createInterface({ input: host.stdout }).on('line', (line) => lines.push(JSON.parse(line)));
  return {
    process: host,
    pid: host.pid ?? 0,
    lines,
    said: (isIt, what) =>
      until(() => {
        if (host.exitCode !== null) throw new Error(`the host ended: ${complaints}`);
        return lines.some(isIt);
      }, what),
    kill: async () => {
      const exit = once(host, 'exit');
      host.kill('SIGKILL');
      await exit;
    },
  };
}
