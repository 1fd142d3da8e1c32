// The control groups of one child: the kernel's own list of its processes, and limits that the
// kernel enforces. Both versions are supported: v2, whose `cgroup.kill` ends a whole tree at once,
// and the controllers of v1. A group is only created below our own: elsewhere the child would
// escape the limits that the operator has set for us. On v2 that means that the kernel enforces
// limits only where our own group already delegates its controllers (a group that contains a
// process cannot begin to).

import { constants, existsSync, readFileSync } from 'node:fs';
import { access, mkdir, rmdir, writeFile } from 'node:fs/promises';
import type { OwnCgroups } from './own-cgroups.ts';

export interface Limits {
  readonly memoryMb: number | null;
  readonly processes: number | null;
}

export interface TreeCgroup {
  /** One directory on v2, one for each limit on v1. */
  readonly dirs: readonly string[];
  /** Those among them that keep a limit. */
  readonly memory: string | null;
  readonly pids: string | null;
}

/** A group for containment: v2 with `cgroup.kill`. Null when it is not available. */
export async function containingCgroup(own: OwnCgroups, name: string): Promise<TreeCgroup | null> {
  const dir = await make(own.unified, name, {});
  if (dir === null) return null;
  const group = { dirs: [dir], memory: null, pids: null };
  if (isContaining(group)) return group;
  await removeDir(dir);
  return null;
}

/** Whether the kernel can end all of its members at once. */
export function isContaining(group: TreeCgroup | null): boolean {
  return group?.dirs.some((dir) => existsSync(`${dir}/cgroup.kill`)) === true;
}

/** Groups that enforce all of the limits. Null when the kernel cannot enforce every one of them. */
export async function limitingCgroup(
  own: OwnCgroups,
  name: string,
  limits: Limits,
): Promise<TreeCgroup | null> {
  return (await onVersion2(own, name, limits)) ?? (await onVersion1(own, name, limits));
}

/**
 * The kernel counts threads where the config counts processes. The kernel's limit is set far above,
 * so that it only stops a fork bomb; `limits.ts` counts the exact number.
 */
const threadsPerProcess = 32;

async function onVersion2(
  own: OwnCgroups,
  name: string,
  { memoryMb, processes }: Limits,
): Promise<TreeCgroup | null> {
  const dir = await make(own.unified, name, {
    ...(memoryMb !== null && { 'memory.max': bytes(memoryMb), 'memory.oom.group': '1' }),
    ...(processes !== null && { 'pids.max': String(processes * threadsPerProcess) }),
  });
  if (dir === null) return null;
  // Without this a leak would fill the swap before it is stopped. A kernel may lack swap accounting.
  if (memoryMb !== null) await set(`${dir}/memory.swap.max`, '0');
  return {
    dirs: [dir],
    memory: memoryMb === null ? null : dir,
    pids: processes === null ? null : dir,
  };
}

async function onVersion1(
  own: OwnCgroups,
  name: string,
  { memoryMb, processes }: Limits,
): Promise<TreeCgroup | null> {
  const memory =
    memoryMb === null
      ? null
      : await make(own.memory, name, { 'memory.limit_in_bytes': bytes(memoryMb) });
  const pids =
    processes === null
      ? null
      : await make(own.pids, name, { 'pids.max': String(processes * threadsPerProcess) });
  // As above: memory and swap together.
  if (memory !== null) await set(`${memory}/memory.memsw.limit_in_bytes`, bytes(memoryMb ?? 0));
  const group = { dirs: [memory, pids].filter((dir) => dir !== null), memory, pids };
  if ((memoryMb === null) === (memory === null) && (processes === null) === (pids === null)) {
    return group;
  }
  await removeCgroup(group);
  return null;
}

/** The command line that enters the groups and then becomes `command`. */
export function joining(dirs: readonly string[], command: readonly string[]): readonly string[] {
  if (dirs.length === 0) return command;
  const files = dirs.map((dir) => `${dir}/cgroup.procs`);
  return ['/bin/sh', '-c', enter, 'holdfast', String(files.length), ...files, ...command];
}

/** A process enters by writing 0. If it cannot, the server must not run without its limits. */
const enter = `
count=$1
while [ "$count" -gt 0 ]; do
  shift
  echo 0 >"$1" || exit 125
  count=$((count - 1))
done
shift
unset PWD OLDPWD SHLVL
exec "$@"
`;

/** The pids in any of its directories, as seen from our pid namespace. */
export function cgroupMembers(dirs: readonly string[]): readonly number[] {
  const pids = dirs.flatMap((dir) => text(`${dir}/cgroup.procs`).split('\n').map(Number));
  return [...new Set(pids)].filter((pid) => pid > 0);
}

/** What the kernel has done to enforce the limits. */
export function interventions(group: TreeCgroup): { oomKills: number; refusedForks: number } {
  const { memory, pids } = group;
  const oomFiles =
    memory === null ? [] : [`${memory}/memory.events`, `${memory}/memory.oom_control`];
  return {
    oomKills: oomFiles.reduce((sum, file) => sum + counter(file, 'oom_kill'), 0),
    refusedForks: pids === null ? 0 : counter(`${pids}/pids.events`, 'max'),
  };
}

/** Ends all members at once where the kernel can; elsewhere the sweep ends them one by one. */
export async function killMembers(dirs: readonly string[]): Promise<void> {
  await Promise.all(dirs.map((dir) => set(`${dir}/cgroup.kill`, '1')));
}

/** False while a member lives. */
export async function removeCgroup({ dirs }: Pick<TreeCgroup, 'dirs'>): Promise<boolean> {
  return (await Promise.all(dirs.map(removeDir))).every(Boolean);
}

async function removeDir(dir: string): Promise<boolean> {
  return rmdir(dir).then(
    () => true,
    () => !existsSync(dir),
  );
}

/** Creates the directory with all of these settings, or nothing. */
async function make(
  home: string | null,
  name: string,
  settings: Readonly<Record<string, string>>,
): Promise<string | null> {
  if (home === null) return null;
  const dir = `${home}/${name}`;
  try {
    // A child may enter only if we may also write here.
    await access(`${home}/cgroup.procs`, constants.W_OK);
    await mkdir(dir);
  } catch {
    // Read-only, or not ours: then there is no cgroup, and the result is null.
    return null;
  }
  const kept = await Promise.all(
    Object.entries(settings).map(([file, value]) => set(`${dir}/${file}`, value)),
  );
  if (kept.every(Boolean)) return dir;
  await removeDir(dir);
  return null;
}

/** False when there is no such setting here, or the kernel refuses the value. */
async function set(file: string, value: string): Promise<boolean> {
  // Without O_CREAT: a missing file means a missing controller.
  return writeFile(file, value, { flag: constants.O_WRONLY }).then(
    () => true,
    () => false,
  );
}

function counter(file: string, name: string): number {
  const line = text(file)
    .split('\n')
    .find((candidate) => candidate.startsWith(`${name} `));
  return Number(line?.split(' ')[1] ?? 0);
}

/** Empty when the group, or the controller, is not there. */
function text(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}

function bytes(megabytes: number): string {
  return String(megabytes * 1024 * 1024);
}
