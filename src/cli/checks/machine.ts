// Checks of the machine itself: is Node new enough, and which containment ends a server's processes
// when the host dies? A weak containment is a note, not a finding: everything works, with a weaker
// promise.

import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
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

/** One line on what ends their processes, one on what they can see. */
export async function checkContainment(
  clock: Clock,
  env: Readonly<Record<string, string | undefined>>,
  stateDir: string,
): Promise<readonly Check[]> {
  await using spawner = createSpawner({
    clock,
    instance: `doctor-${process.pid}`,
    stateDir: null,
    sourceEnv: env,
    // Before the first start there is none: whether a folder can be hidden is seen with another one, too.
    hidden: [existsSync(stateDir) ? stateDir : tmpdir()],
  });
  const [kind, isHidden] = await Promise.all([spawner.containment(), spawner.hidesFolders()]);
  const weak = `${holds.group}; Linux with /proc or pid namespaces has stronger containment`;
  return [
    kind === 'group' ? note('processes', weak) : ok('processes', holds[kind]),
    isHidden
      ? ok('isolation', 'the state directory and the control socket are hidden from servers')
      : note(
          'isolation',
          'the state directory and the control socket are not hidden from servers, which could use them as you can (SECURITY.md)',
        ),
  ];
}
