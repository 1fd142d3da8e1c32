// Which servers run, for messages about what was done to them, and which can be used at all.

import type { HostStatus, ServerState, ServerStatus } from '../host/status.ts';
import type { Operations } from '../instance/operations.ts';
import type { Before } from './render/plan-page.ts';

/** In these states a server has no process and no connection. */
const resting: ReadonlySet<ServerState> = new Set(['idle', 'cooling', 'ejected', 'disabled']);

export function runningIn({ servers }: Pick<HostStatus, 'servers'>): (server: string) => boolean {
  const running = servers.filter(({ state }) => !resting.has(state)).map(({ name }) => name);
  return (server) => running.includes(server);
}

/** Those that an operator has stopped, though the config has them kept running (`lazy: false`). */
export function stoppedIn({ servers }: Pick<HostStatus, 'servers'>): (server: string) => boolean {
  const isStopped = ({ lazy, pinned, state }: ServerStatus) => !lazy && !pinned && state === 'idle';
  const stopped = servers.filter(isStopped).map(({ name }) => name);
  return (server) => stopped.includes(server);
}

/** Both, for what is said of a change. */
export function beforeIn(status: Pick<HostStatus, 'servers'>): Before {
  return { wasRunning: runningIn(status), wasStopped: stoppedIn(status) };
}

/** The names of those that are not disabled. */
export function usableIn({ servers }: Pick<HostStatus, 'servers'>): readonly string[] {
  return servers.filter(({ state }) => state !== 'disabled').map(({ name }) => name);
}

/** The same in the config that is in use, which may not be what the file has now. */
export async function usableServers(operations: Operations): Promise<readonly string[]> {
  return usableIn(await operations.status());
}
