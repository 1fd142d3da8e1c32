// From a specification to a living child: resolves the command, makes the cgroups, starts the
// process under its containment, and enters it into the books. Whatever fails on the way leaves
// nothing behind.

import type { Clock } from '../kernel/clock.ts';
import { Fault } from '../kernel/fault.ts';
import { containingCgroup, joining, limitingCgroup, removeCgroup, type TreeCgroup } from './cgroup.ts';
import type { ChildSpec } from './child.ts';
import type { ChildStreams } from './child-streams.ts';
import { resolveCommand } from './command.ts';
import { type ContainmentPlan, contained } from './containment.ts';
import { childEnvironment, childToken, type Environment } from './environment.ts';
import type { InstanceRecord } from './instance-record.ts';
import { type Launched, launch, reportedPid } from './launch.ts';
import { hasLimits } from './limits.ts';
import type { OwnCgroups } from './own-cgroups.ts';
import { PosixChild } from './posix-child.ts';
import type { ProcessIdentity, ProcessTable } from './process-table.ts';
import { ProcessTree } from './process-tree.ts';
import type { Reaper } from './reaper.ts';

/** What stands ready before the first child. */
export interface Nursery {
  readonly clock: Clock;
  readonly instance: string;
  readonly sourceEnv: Environment;
  readonly table: ProcessTable;
  readonly plan: ContainmentPlan;
  readonly own: OwnCgroups;
  readonly reaper: Reaper;
  readonly record: InstanceRecord;
}

/** `number` is unique among the children of this host. Throws a Fault `unavailable`. */
export async function giveBirth(
  nursery: Nursery,
  spec: ChildSpec,
  number: number,
): Promise<PosixChild> {
  const { instance, sourceEnv, plan, clock } = nursery;
  const { name: server, command, cwd, inheritEnv } = spec;
  const token = childToken(instance, number);
  const env = childEnvironment(sourceEnv, { env: spec.env, inheritEnv, token });
  const file = await resolveCommand({ server, command, cwd, path: env['PATH'] });
  const groups = await makeGroups(nursery, spec, `holdfast-${instance}-${number}`);
  const line = contained(plan, joining(groups.dirs, [file, ...spec.args]));
  const reportsPid = plan.kind === 'pidns';
  try {
    const launched = await launch({ server, command, line, env, cwd, reportsPid }, clock);
    return await raise(nursery, spec, groups, launched, token);
  } catch (error) {
    await removeCgroup(groups);
    throw error;
  }
}

interface Groups {
  /** All of them, to be entered. */
  readonly dirs: readonly string[];
  /** Those that keep the limits. */
  readonly limiting: TreeCgroup | null;
}

async function makeGroups({ plan, own }: Nursery, spec: ChildSpec, name: string): Promise<Groups> {
  const limiting = hasLimits(spec) ? await limitingCgroup(own, `${name}-limits`, spec) : null;
  const containing = plan.kind === 'cgroup' ? await containingCgroup(own, name) : null;
  return { dirs: [...(limiting?.dirs ?? []), ...(containing?.dirs ?? [])], limiting };
}
