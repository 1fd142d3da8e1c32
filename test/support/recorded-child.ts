// A real child whose whole life is written down, for tests that ask in which order it was told.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { systemClock } from '../../src/kernel/system-clock.ts';
import type { Child, ChildSpec, Containment, Exit } from '../../src/supervise/child.ts';
import { processEnvironment } from '../../src/supervise/process/start/environment.ts';
import {
  createSpawner,
  type Spawner,
  type SpawnerOptions,
} from '../../src/supervise/process/start/spawn.ts';

export interface RecordedChild {
  readonly child: Child;
  /** What was told, in order; pieces of one stream in a row count once. */
  readonly told: readonly string[];
  readonly exited: Promise<Exit>;
  stdout(): Buffer;
  stderr(): Buffer;
  write(text: string | Uint8Array): Promise<Error | null>;
}

let instances = 0;

export function newSpawner(options: Partial<SpawnerOptions> = {}): Spawner {
  return createSpawner({
    clock: systemClock,
    instance: `t${process.pid}-${++instances}-${Math.trunc(systemClock.now())}`,
    stateDir: null,
    sourceEnv: processEnvironment(),
    ...options,
  });
}

export async function recorded(
  spawner: Spawner,
  command: string,
  args: readonly string[] = [],
  more: Partial<ChildSpec> = {},
): Promise<RecordedChild> {
  const told: string[] = [];
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  const tell = (what: string): void => {
    if (told.at(-1) !== what) told.push(what);
  };
  let resolveExit: (exit: Exit) => void = () => {};
  const exited = new Promise<Exit>((resolve) => {
    resolveExit = resolve;
  });
  const spec: ChildSpec = {
    ...{ name: 'subject', command, args, env: {}, inheritEnv: [], cwd: '/' },
    ...{ memoryMb: null, processes: null },
    ...more,
  };
  const child = await spawner.spawn(spec, {
    stdout: (chunk) => {
      tell('stdout');
      out.push(chunk);
    },
    stderr: (chunk) => {
      tell('stderr');
      err.push(chunk);
    },
    ended: () => tell('ended'),
    exited: (exit) => {
      tell('exited');
      resolveExit(exit);
    },
  });
  return {
    child,
    told,
    exited,
    stdout: () => Buffer.concat(out),
    stderr: () => Buffer.concat(err),
    write: (text) =>
      new Promise((resolve) =>
        child.write(typeof text === 'string' ? Buffer.from(text) : text, resolve),
      ),
  };
}

/** `sh -c script` as the child. */
export function shell(
  spawner: Spawner,
  script: string,
  more: Partial<ChildSpec> = {},
): Promise<RecordedChild> {
  return recorded(spawner, '/bin/sh', ['-c', script], more);
}

/** The cgroups whose names begin so. */
export function cgroupsNamed(prefix: string): string[] {
  const root = '/sys/fs/cgroup';
  if (!existsSync(root)) return [];
  // A group may vanish while they are listed; then find complains and exits with 1.
  const { stdout } = spawnSync('find', [root, '-type', 'd', '-name', `${prefix}*`]);
  return String(stdout).split('\n').filter(Boolean);
}

/** Which containments this machine offers; the others are named with a line, and cannot be tested. */
export async function offeredContainments(): Promise<readonly Containment[]> {
  const offered: Containment[] = [];
  for (const kind of ['pidns', 'cgroup', 'marker', 'group'] as const) {
    await using spawner = newSpawner({ containments: [kind] });
    const found = await spawner.containment();
    if (found === kind) offered.push(kind);
    else console.log(`not tested: this machine does not offer the containment ${kind}`);
  }
  return offered;
}
