// The processes of servers that are children of a gateway, found by the file that each of them was told
// to note its starts in, and what can be done to a process from outside.

import { allProcesses, argumentsOf } from './process-list.ts';
import { filesOf, type ServerSpec } from './servers.ts';

export function processesOf(folder: string, specs: readonly ServerSpec[]): readonly number[] {
  const marks = specs
    .filter(({ transport }) => transport === 'stdio')
    .map((spec) => filesOf(folder, spec).starts);
  const running = allProcesses().filter(({ pid, isZombie }) => {
    const [program, ...args] = isZombie ? [] : argumentsOf(pid);
    // Those that hold a server in their namespace name it too, but are no node.
    return program === process.execPath && args.some((arg) => marks.includes(arg));
  });
  return running.map(({ pid }) => pid);
}

/** False if it is not there any more. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}
