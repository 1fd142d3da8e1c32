// Finds the control groups of this process and where they are mounted: a child's group may be
// created below these. It only reads; `cgroup.ts` creates the groups.

import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** Directories; null where there is none that we can see. */
export interface OwnCgroups {
  /** The unified hierarchy of v2. */
  readonly unified: string | null;
  /** The controllers of v1. */
  readonly memory: string | null;
  readonly pids: string | null;
}

export const noCgroups: OwnCgroups = { unified: null, memory: null, pids: null };

export async function ownCgroups(procDir: string): Promise<OwnCgroups> {
  try {
    const memberships = await readFile(`${procDir}/self/cgroup`, 'utf8');
    const mounts = await readFile(`${procDir}/self/mountinfo`, 'utf8');
    return cgroupsFrom(memberships, mounts);
  } catch {
    // No /proc, or a kernel without cgroups.
    return noCgroups;
  }
}

/** The pure part, over the text of /proc/self/cgroup and /proc/self/mountinfo. */
export function cgroupsFrom(memberships: string, mountinfo: string): OwnCgroups {
  const mounts = mountinfo.split('\n').flatMap(mountFrom);
  const find = (controller: string): string | null => {
    const mount = mounts.find((candidate) => candidate.controllers.includes(controller));
    const path = memberships.split('\n').flatMap((line) => membershipFrom(line, controller))[0];
    if (mount === undefined || path === undefined) return null;
    // In a container the mount may show another part of the hierarchy than the one we are in.
    const below = relative(mount.root, path);
    return below.startsWith('..') ? null : join(mount.dir, below);
  };
  return { unified: find(unifiedName), memory: find('memory'), pids: find('pids') };
}

/** /proc/self/cgroup names no controller for the unified hierarchy. */
const unifiedName = '';

function membershipFrom(line: string, controller: string): string[] {
  const [, names, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
  return path !== undefined && names?.split(',').includes(controller) === true ? [path] : [];
}

interface CgroupMount {
  readonly root: string;
  readonly dir: string;
  readonly controllers: readonly string[];
}

/** `id parent device root dir options… - type source superoptions` */
function mountFrom(line: string): CgroupMount[] {
  const [mount = '', source = ''] = line.split(' - ');
  const [, , , root = '', dir = ''] = mount.split(' ');
  const [type, , options = ''] = source.split(' ');
  if (type === 'cgroup2') return [{ root, dir, controllers: [unifiedName] }];
  return type === 'cgroup' ? [{ root, dir, controllers: options.split(',') }] : [];
}
