// Starts a child from its specification: resolves the command, creates the cgroups, starts the
// process under its containment, and registers it. A failure at any step leaves nothing behind.

import type { Clock } from '../../../kernel/clock.ts';
import { ignored } from '../../../kernel/contain.ts';
import { Fault } from '../../../kernel/fault.ts';
import type { ChildListener, ChildSpec, Containment, HandedChild } from '../../child.ts';
import { ClientAsked } from '../../client-asked.ts';
import {
  containingCgroup,
  isContaining,
  joining,
  limitingCgroup,
  removeCgroup,
  type TreeCgroup,
} from '../contain/cgroup.ts';
import {
  type ContainmentPlan,
  contained,
  hidesAll,
  isInHidden,
  movedFolder,
} from '../contain/containment.ts';
import type { InstanceRecord } from '../contain/instance-record.ts';
import type { OwnCgroups } from '../contain/own-cgroups.ts';
import { namespaceMembers } from '../contain/pid-namespace.ts';
import { sendSignal } from '../end/sweep.ts';
import type { ProcessIdentity, ProcessTable } from '../watch/process-table.ts';
import { ProcessTree } from '../watch/process-tree.ts';
import { hasLimits } from './child-limits.ts';
import { childStateIn } from './child-state.ts';
import { ChildStreams } from './child-streams.ts';
import { resolveCommand } from './command.ts';
import { childEnvironment, childToken, type Environment } from './environment.ts';
import { hasReported, type Launched, launch } from './launch.ts';
import { PosixChild } from './posix-child.ts';
import type { ProcessHolder, ReaperControl } from './process-starter.ts';

/** What is prepared before the first child. */
export interface ChildFactory {
  readonly clock: Clock;
  readonly instance: string;
  readonly sourceEnv: Environment;
  readonly table: ProcessTable;
  readonly plan: ContainmentPlan;
  readonly own: OwnCgroups;
  readonly reaper: ReaperControl;
  readonly record: InstanceRecord;
  /** The parent of the processes; undefined: this process. */
  readonly holder: ProcessHolder | undefined;
}

/** `number` is unique among the children of this host. Throws a Fault `unavailable`. */
export async function startChild(
  factory: ChildFactory,
  spec: ChildSpec,
  number: number,
): Promise<PosixChild> {
  const { instance, sourceEnv, plan, clock } = factory;
  const { name: server, command, cwd, isClientFolder, inheritEnv, allowEnv = [] } = spec;
  const token = childToken(instance, number);
  const env = childEnvironment(sourceEnv, { env: spec.env, inheritEnv, allowEnv, token });
  const path = env['PATH'];
  const file = await resolveCommand({ server, command, cwd, isClientFolder, path });
  await assertHidden(plan, spec);
  const groups = await makeGroups(factory, spec, `holdfast-${instance}-${number}`);
  const words = [file, ...spec.args];
  const uses = [...words, cwd];
  const line = contained(plan, joining(groups.dirs, words), uses);
  const isStateHidden = hidesAll(plan, uses);
  const hasReport = plan.kind === 'pidns';
  let launched: Launched | undefined;
  try {
    launched = await launch({ server, command, line, env, cwd, hasReport }, clock, factory.holder);
    return await register(factory, spec, { ...groups, isStateHidden }, launched, token);
  } catch (error) {
    // It may run already, and no other code would know (too many open files to look it up).
    if (launched !== undefined) sendSignal(-launched.pid, 'SIGKILL');
    await removeCgroup(groups);
    throw error;
  }
}

/** A child that another serving process of the same holder has had. Throws a Fault. */
export async function takeOver(
  { holder, clock, table, reaper, record }: ChildFactory,
  handed: HandedChild,
): Promise<PosixChild> {
  const state = childStateIn(handed.state);
  if (holder === undefined || state === undefined) {
    throw new Fault('internal', 'what was handed over is no child that this process can have');
  }
  const { id, pid, containment, isStateHidden, limits, limiting } = state;
  const { leader, token, cgroups, namespace, noted } = state.tree;
  const streams = new ChildStreams(await holder.take(id), clock, handed);
  const parts = { containment, table, clock, reaper, record, leader, token, cgroups };
  const tree = new ProcessTree(parts, { namespace, noted });
  streams.exit.then(() => tree.exited()).catch(ignored);
  return new PosixChild({
    ...{ streams, tree, table, containment, isStateHidden, limits, limiting, pid },
  });
}

/** Throws a Fault unless what is to be hidden from the process can be. */
async function assertHidden(plan: ContainmentPlan, spec: ChildSpec): Promise<void> {
  const { name: server, cwd, isClientFolder } = spec;
  const moved = await movedFolder(plan);
  if (moved !== undefined) {
    const detail = `${server} is not started: ${moved} was moved or replaced, so that it cannot be hidden; end Holdfast and start it again`;
    throw new Fault('overloaded', detail, { server, dispatched: 'no' });
  }
  if (isClientFolder !== true || !isInHidden(plan, cwd)) return;
  const detail = `${server} is not started in ${cwd}: that is the state directory of Holdfast`;
  throw new Fault('invalid_request', detail, { server, dispatched: 'no' }, new ClientAsked());
}

interface Groups {
  /** All of them, to be entered. */
  readonly dirs: readonly string[];
  /** Those that keep the limits. */
  readonly limiting: TreeCgroup | null;
  readonly containment: Containment;
}

/** How it is contained. */
interface Contained extends Groups {
  readonly isStateHidden: boolean;
}

async function makeGroups(
  { plan, own }: ChildFactory,
  spec: ChildSpec,
  name: string,
): Promise<Groups> {
  const limiting = hasLimits(spec) ? await limitingCgroup(own, name, spec) : null;
  if (plan.kind !== 'cgroup' || isContaining(limiting)) {
    return { dirs: limiting?.dirs ?? [], limiting, containment: plan.kind };
  }
  const containing = await containingCgroup(own, name);
  return {
    dirs: [...(limiting?.dirs ?? []), ...(containing?.dirs ?? [])],
    limiting,
    // The kernel may refuse this one although it allowed the first.
    containment: containing === null ? 'marker' : 'cgroup',
  };
}

/** From here on the process is registered, whatever happens. */
async function register(
  factory: ChildFactory,
  spec: ChildSpec,
  { dirs: cgroups, limiting, containment, isStateHidden }: Contained,
  { pid, streams, report }: Launched,
  token: string,
): Promise<PosixChild> {
  const { table, clock, reaper, record } = factory;
  const leader = await identify(table, pid);
  const parts = { containment, table, clock, reaper, record, leader, token, cgroups };
  const tree = new ProcessTree(parts);
  try {
    const launched = { pid, streams, report };
    return await installed(factory, spec, { containment, limiting, isStateHidden }, launched, tree);
  } catch (error) {
    // No other code knows of it: it is ended at once, and its registration is removed.
    sendSignal(-pid, 'SIGKILL');
    tree.sweep().catch(ignored);
    throw error;
  }
}

async function installed(
  { table }: ChildFactory,
  spec: ChildSpec,
  { containment, limiting, isStateHidden }: Omit<Contained, 'dirs'>,
  { pid, streams, report }: Launched,
  tree: ProcessTree,
): Promise<PosixChild> {
  streams.exit.then(() => tree.exited()).catch(ignored);
  if (report !== null && !(await hasReported(report))) {
    const cause = await lastWords(streams);
    await tree.sweep();
    const detail = `'${spec.command}' could not be started in a pid namespace: ${cause}`;
    throw new Fault('unavailable', detail, { server: spec.name, dispatched: 'no' });
  }
  const serverPid = report === null ? pid : await enterNamespace(tree, table, pid);
  const of = { streams, tree, table, containment, isStateHidden, limits: spec, limiting };
  return new PosixChild({ ...of, pid: serverPid });
}

/**
 * The server's pid as we see it; that of its wrapper if it was started and ended within a moment.
 */
async function enterNamespace(
  tree: ProcessTree,
  table: ProcessTable,
  outer: number,
): Promise<number> {
  const members = namespaceMembers(outer, await table.descendants(outer));
  if (members === null) return outer;
  tree.entered(members);
  return members.server.pid;
}

/** A process that has already ended gets a start time that matches no process. */
async function identify(table: ProcessTable, pid: number): Promise<ProcessIdentity> {
  return { pid, start: (await table.find(pid))?.start ?? 'gone' };
}

/** The last line on stderr of a wrapper that failed, or its exit. */
function lastWords(streams: ChildStreams): Promise<string> {
  let text = '';
  return new Promise((resolve) => {
    const listener: ChildListener = {
      stdout: () => {},
      stderr: (chunk) => {
        text = `${text}${chunk}`.slice(-1000);
      },
      ended: () => {},
      exited: ({ code, signal }) =>
        resolve(text.trim().split('\n').at(-1) || `exit ${code ?? signal}`),
    };
    streams.begin(listener, (raw) => raw);
  });
}
