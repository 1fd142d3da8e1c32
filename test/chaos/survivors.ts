// What is left of a run: processes that outlive the gateway that started them, and dead ones that
// nobody has collected. A process belongs to the run if the run's mark or folder stands in its
// environment or command line, wherever it has gone.

import { pauseMs } from './client.ts';
import type { GatewayHome } from './gateway.ts';
import { allProcesses, argumentsOf, below, mentions, type ProcessSeen } from './process-list.ts';

/** So long a process may take to be gone when its host is, and a dead one to be collected. */
const graceMs = 2000;

/** The processes of the run, or of one gateway by its mark, that are there although it was ended. */
export async function survivors(
  { mark, folder }: GatewayHome,
  by: 'mark or folder' | 'mark' = 'mark or folder',
): Promise<readonly string[]> {
  const words = by === 'mark' ? [mark] : [mark, folder];
  return await lasting(() =>
    allProcesses().filter(({ pid, isZombie }) => !isZombie && mentions(pid, words)),
  );
}

/** Dead children of the gateway, and of whatever is below it, that stay uncollected. */
export async function lastingZombies(gateway: number): Promise<readonly string[]> {
  return await lasting(() => below(gateway, allProcesses()).filter(({ isZombie }) => isZombie));
}

/** Those that are found at first and are still there a while later, in words. */
export async function lasting(find: () => readonly ProcessSeen[]): Promise<readonly string[]> {
  let found = find();
  const first = new Set(found.map(({ pid }) => pid));
  for (let waitedMs = 0; found.length > 0 && waitedMs < graceMs; waitedMs += 100) {
    await pauseMs(100);
    found = find().filter(({ pid }) => first.has(pid));
  }
  return found.map(({ pid, parent }) => `${pid} (parent ${parent}) ${argumentsOf(pid).join(' ')}`);
}
