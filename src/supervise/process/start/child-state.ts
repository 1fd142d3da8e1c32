// A running child as JSON, for the serving process that takes it over: everything that is known of it beside its pipes,
// which the holder gives. It decides which processes are signalled, so every field is checked.

import type { ChildState, Containment } from '../../child.ts';
import type { Limits, TreeCgroup } from '../contain/cgroup.ts';
import type { ProcessIdentity } from '../watch/process-table.ts';
import type { TreeState } from '../watch/process-tree.ts';

export interface PosixChildState extends ChildState {
  /** The server's own. */
  readonly pid: number;
  readonly containment: Containment;
  readonly isStateHidden: boolean;
  readonly limits: Limits;
  readonly limiting: TreeCgroup | null;
  readonly tree: TreeState;
}

/** Undefined if it is none. */
export function childStateIn(value: unknown): PosixChildState | undefined {
  if (!isObject(value)) return undefined;
  const { id, pid, containment, isStateHidden, limits, limiting, tree } = value;
  const isOne =
    isPid(id) &&
    isPid(pid) &&
    containments.some((one) => one === containment) &&
    typeof isStateHidden === 'boolean' &&
    isObject(limits) &&
    isLimit(limits['memoryMb']) &&
    isLimit(limits['processes']) &&
    (limiting === null || isCgroup(limiting)) &&
    isTree(tree);
  return isOne ? (value as unknown as PosixChildState) : undefined;
}

const containments: readonly Containment[] = ['pidns', 'cgroup', 'marker', 'group'];

function isTree(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { leader, token, cgroups, namespace, noted } = value;
  return (
    isIdentity(leader) &&
    typeof token === 'string' &&
    /^[\w-]{4,64}\.\d+;$/.test(token) &&
    isFolders(cgroups) &&
    (namespace === null ||
      (isObject(namespace) && isIdentity(namespace['init']) && isIdentity(namespace['server']))) &&
    Array.isArray(noted) &&
    noted.every(isIdentity)
  );
}

function isCgroup(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { dirs, memory, pids } = value;
  return isFolders(dirs) && [memory, pids].every((one) => one === null || isFolder(one));
}

function isFolders(value: unknown): boolean {
  return Array.isArray(value) && value.every(isFolder);
}

/** What is in it is killed. */
function isFolder(value: unknown): boolean {
  return typeof value === 'string' && value.includes('/holdfast-');
}

function isIdentity(value: unknown): value is ProcessIdentity {
  return isObject(value) && isPid(value['pid']) && typeof value['start'] === 'string';
}

function isPid(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

function isLimit(value: unknown): boolean {
  return value === null || isPid(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
