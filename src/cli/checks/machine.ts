// Checks of the machine itself: is Node new enough, and which containment ends a server's processes
// when the host dies? A weak containment is a note, not a finding: everything works, with a weaker
// promise.

import type { Clock } from '../../kernel/clock.ts';
import type { Containment } from '../../supervise/child.ts';
import { createSpawner } from '../../supervise/process/start/spawn.ts';
import { nodeProblem } from '../node-version.ts';
import { type Check, finding, note, ok } from './check.ts';

export function checkNode(version: string): Check {
  const problem = nodeProblem(version);
  return problem ? finding('node', problem.text, problem.remedy) : ok('node', version);
}

const holds: Readonly<Record<Containment, string>> = {
  pidns: 'pidns: the kernel ends all processes of a server together',
  cgroup: 'cgroup: the kernel tracks all processes of a server, and they are ended together',
  marker:
    'marker: processes that a server leaves behind are found by a marker in their environment',
  group: 'group: processes that leave the process group of a server may outlive it',
};

export async function checkContainment(
  clock: Clock,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Check> {
  await using spawner = createSpawner({
    clock,
    instance: `doctor-${process.pid}`,
    stateDir: null,
    sourceEnv: env,
  });
  const kind = await spawner.containment();
  return kind === 'group'
    ? note(
        'processes',
        `${holds[kind]}; Linux with /proc or pid namespaces has stronger containment`,
      )
    : ok('processes', holds[kind]);
}
