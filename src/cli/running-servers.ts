// Which servers run, for messages about what was done to them.

import type { HostStatus, ServerState } from '../host/status.ts';

/** In these states a server has no process and no connection. */
const resting: ReadonlySet<ServerState> = new Set(['idle', 'cooling', 'ejected', 'disabled']);

export function runningIn({ servers }: Pick<HostStatus, 'servers'>): (server: string) => boolean {
  const running = servers.filter(({ state }) => !resting.has(state)).map(({ name }) => name);
  return (server) => running.includes(server);
}
