// The last failure of a server that is not over, from the event log: a read-only command starts no
// server, so it can only show what another process saw.

import type { HostStatus, ServerStatus } from '../host/status.ts';
import type { HostEvent } from '../observe/events.ts';

type Failure = Extract<HostEvent, { readonly kind: 'start-failed' | 'lost' }>;

/** Where a server is not running here, its cause and stderr are those of its last failure. */
export function withLastFailures(status: HostStatus, history: readonly HostEvent[]): HostStatus {
  return { ...status, servers: status.servers.map((server) => withFailure(server, history)) };
}

function withFailure(server: ServerStatus, history: readonly HostEvent[]): ServerStatus {
  const failure = server.state === 'idle' ? lastFailure(server.name, history) : undefined;
  if (failure === undefined) return server;
  const { detail, stderr } = failure;
  const lines = typeof stderr === 'string' ? stderr.split('\n') : [];
  return { ...server, cause: String(detail), stderr: lines };
}

/** Undefined if it has been ready since, or was reloaded or stopped on purpose. */
function lastFailure(server: string, history: readonly HostEvent[]): Failure | undefined {
  const last = history.findLast(
    ({ kind, server: of }) => of === server && (failing.has(kind) || mending.has(kind)),
  );
  return last !== undefined && failing.has(last.kind) ? (last as Failure) : undefined;
}

const failing: ReadonlySet<HostEvent['kind']> = new Set(['start-failed', 'lost']);
const mending: ReadonlySet<HostEvent['kind']> = new Set(['ready', 'reloaded']);
