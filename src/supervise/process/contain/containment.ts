// What can hold a child's tree together on this machine, best first, found out by trying the real
// thing: a kernel setting, a container profile or an old `unshare` may each refuse it, and nothing
// may be claimed that does not hold. From the finding follows how a command is started.
//
// - pidns   the kernel ends the tree with its first process; nothing escapes.
// - cgroup  the kernel knows all members, and the reaper ends them at once. A process escapes only
//           by moving itself into another cgroup that its user may write.
// - marker  the reaper finds strays by session, parentage, noted pid and the marker in their
//           environment. One that has left its session *and* cleared its environment is caught
//           only if it was noted (about once a second) or its parent still lives.
// - group   as above, but nobody can read environments here (no /proc): a process that has left its
//           group is caught only if it was noted or its parent still lives.
//
// Outside a namespace no parent-death signal is set: it reaches only the first process, and by its
// death hides from the reaper whose child a stray was.

import { spawn } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { sep } from 'node:path';
import type { Clock } from '../../../kernel/clock.ts';
import { shortageOf } from '../../../kernel/shortage.ts';
import type { Containment } from '../../child.ts';
import { resolveCommand } from '../start/command.ts';
import type { ProcessTable } from '../watch/process-table.ts';
import { containingCgroup, removeCgroup } from './cgroup.ts';
import type { OwnCgroups } from './own-cgroups.ts';
import {
  inPidNamespace,
  type NamespaceMaker,
  type NamespaceTools,
  reportDescriptor,
} from './pid-namespace.ts';

export type ContainmentPlan =
  | {
      readonly kind: 'pidns';
      readonly tools: NamespaceTools;
      readonly maker: NamespaceMaker;
      /** The folders that the process does not see. */
      readonly hidden: readonly HiddenFolder[];
    }
  | { readonly kind: 'cgroup' | 'marker' | 'group' };

export interface ContainmentQuery {
  readonly clock: Clock;
  readonly instance: string;
  readonly table: ProcessTable;
  readonly own: OwnCgroups;
  /** Where to look for `unshare`, `setpriv` and `env`. */
  readonly path: string | undefined;
  /** Those that may be used; `group` always may. */
  readonly allowed: readonly Containment[];
  /** Folders that the processes should not see, if that is possible. */
  readonly hidden: readonly HiddenFolder[];
}

/** A folder, and how it is told from another that is put in its place later. */
export interface HiddenFolder {
  readonly path: string;
  readonly dev: number;
  readonly ino: number;
}

export async function strongestContainment(query: ContainmentQuery): Promise<ContainmentPlan> {
  const [unshare, setpriv, env] = await Promise.all(
    ['unshare', 'setpriv', 'env'].map((name) => program(name, query.path)),
  );
  const { allowed, table } = query;
  if (allowed.includes('pidns') && table.seesEnvironments && unshare && setpriv && env) {
    const tools = { unshare, setpriv, env };
    for (const maker of makers()) {
      // Where folders cannot be hidden, the namespace alone may still be possible.
      for (const hidden of query.hidden.length === 0 ? [[]] : [query.hidden, []]) {
        const paths = hidden.map(({ path }) => path);
        const line = inPidNamespace(tools, maker, probeFor(paths), paths);
        if (await works(line, query.clock)) return { kind: 'pidns', tools, maker, hidden };
      }
    }
  }
  return { kind: await weaker(query) };
}

/** The command line that runs `command` so contained; `uses` are the paths that it is given. */
export function contained(
  plan: ContainmentPlan,
  command: readonly string[],
  uses: readonly string[],
): readonly string[] {
  if (plan.kind !== 'pidns') return command;
  return inPidNamespace(plan.tools, plan.maker, command, hiddenFrom(plan, uses));
}

/** A server whose program, folder or file lies in such a folder has to see it. */
function hiddenFrom(
  { hidden }: Extract<ContainmentPlan, { readonly kind: 'pidns' }>,
  uses: readonly string[],
): readonly string[] {
  const paths = hidden.map(({ path }) => path);
  return paths.filter((folder) => !uses.some((path) => isBelow(path, folder)));
}

/** Whether all that should be hidden from a process that is given these paths is hidden. */
export function hidesAll(plan: ContainmentPlan, uses: readonly string[] = []): boolean {
  if (plan.kind !== 'pidns' || plan.hidden.length === 0) return false;
  return hiddenFrom(plan, uses).length === plan.hidden.length;
}

/** The first folder that is not where it was: something else would be hidden in its place. */
export async function movedFolder(plan: ContainmentPlan): Promise<string | undefined> {
  if (plan.kind !== 'pidns') return undefined;
  for (const { path, dev, ino } of plan.hidden) {
    const found = await stat(path).catch(() => undefined);
    if (found?.dev !== dev || found.ino !== ino) return path;
  }
  return undefined;
}

/** Whether this lies in a folder that is hidden from processes. */
export function isInHidden(plan: ContainmentPlan, path: string): boolean {
  return plan.kind === 'pidns' && plan.hidden.some((folder) => isBelow(path, folder.path));
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}${sep}`);
}

/** In a container even root may need a user namespace. */
function makers(): readonly NamespaceMaker[] {
  return process.geteuid?.() === 0 ? ['root', 'ordinary user'] : ['ordinary user'];
}

async function weaker(query: ContainmentQuery): Promise<'cgroup' | 'marker' | 'group'> {
  const { allowed, table, own, instance } = query;
  if (allowed.includes('cgroup')) {
    const group = await containingCgroup(own, `holdfast-${instance}-probe`);
    if (group !== null && (await removeCgroup(group))) return 'cgroup';
  }
  return allowed.includes('marker') && table.seesEnvironments ? 'marker' : 'group';
}

/** A missing tool is an answer, not a fault. */
function program(name: string, path: string | undefined): Promise<string | null> {
  return resolveCommand({ server: '', command: name, cwd: '/', path }).catch((error: unknown) => {
    if (shortageOf(error) !== undefined) throw error;
    return null;
  });
}

const probeCode = 7;

/** Is there a /proc in the place of each folder? */
function probeFor(folders: readonly string[]): readonly string[] {
  const script = `for folder; do [ -e "$folder/self" ] || exit 1; done; exit ${probeCode}`;
  return ['/bin/sh', '-c', script, 'holdfast', ...folders];
}

/** A machine so busy that this takes longer gets a weaker hold, honestly reported. */
const probeMs = 3000;

/** Runs it once and sees whether the exit code of the probe comes through. */
function works([file = '', ...args]: readonly string[], clock: Clock): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const stdio = Array.from({ length: reportDescriptor + 1 }, () => 'ignore' as const);
    const trial = spawn(file, args, { stdio, detached: true, env: {}, cwd: '/' });
    const alarm = clock.after(probeMs, () => trial.kill('SIGKILL'));
    const answer = (isGood: boolean): void => {
      alarm[Symbol.dispose]();
      resolve(isGood);
    };
    trial.once('error', (error) => {
      // A shortage of our own says nothing of what this machine can do; it is asked again later.
      if (shortageOf(error) !== undefined) reject(error);
      answer(false);
    });
    trial.once('exit', (code) => answer(code === probeCode));
  });
}
