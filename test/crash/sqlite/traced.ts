// Runs a program under strace, which lets system calls fail, delays them, or kills the program at one of
// them, and writes down what it did to its files. SQLite does not use Node's file functions, so that the
// preload of the other crash tests does not reach it.

import { spawn, spawnSync } from 'node:child_process';

export interface TraceOptions {
  /** Only calls on these files and folders. */
  readonly paths: readonly string[];
  /** Where the calls are written; absent: nowhere. */
  readonly log?: string;
  /** As strace's option `inject` takes them. */
  readonly inject?: readonly string[];
}

const calls = [
  'openat',
  'pwrite64',
  'pwritev',
  'write',
  'writev',
  'fsync',
  'fdatasync',
  'ftruncate',
  'fallocate',
  'unlink',
  'unlinkat',
  'rename',
  'renameat',
  'renameat2',
  'link',
  'linkat',
];

/** Why strace cannot be used here; undefined if it can. */
export function straceRefusal(): string | undefined {
  const { error, status, stderr } = spawnSync('strace', ['-f', '-o', '/dev/null', 'true']);
  if (error !== undefined) return 'strace is not installed';
  if (status === 0) return undefined;
  return `strace cannot trace here: ${stderr.toString().trim().split('\n')[0]}`;
}

/** The arguments of strace before the command. */
export function straceArguments({ paths, log, inject = [] }: TraceOptions): readonly string[] {
  // With it strace is faster, and sends no signals.
  const isFast = !inject.some((one) => one.includes('signal='));
  return [
    ...(isFast ? ['-f', '--seccomp-bpf'] : ['-f']),
    ...['-y', '-xx', '-s', '10000000', '-e', 'signal=none'],
    ...['-o', log ?? '/dev/null', '-e', `trace=${calls.join(',')}`],
    ...paths.flatMap((path) => ['-P', path]),
    ...inject.flatMap((one) => ['-e', `inject=${one}`]),
  ];
}

export interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stderr: string;
}

/** Resolves when the program has ended. */
export function runTraced(command: readonly string[], options: TraceOptions): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn('strace', [...straceArguments(options), ...command], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr = `${stderr}${text}`.slice(-2_000);
    });
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, stderr: stderr.trim() }));
  });
}
