// The last failure of a server that is not over, from the event log: a read-only command starts no
// server, so it can only show what another process saw.

import type { Config } from '../config/schema.ts';
import { shortSpec } from '../config/spec-hash.ts';
import type { HostStatus, ServerStatus } from '../host/status.ts';
import type { HostEvent } from '../observe/events.ts';
import type { LoggedEvent } from './event-history.ts';

type Failure = Extract<HostEvent, { readonly kind: 'start-failed' | 'lost' }>;

/**
 * Without what happened to servers whose entries were changed after they had failed: that says nothing of what
 * the config has now.
 */
export function withoutMended(
  history: readonly LoggedEvent[],
  { mcpServers }: Config,
): readonly LoggedEvent[] {
  const specs = new Map(Object.entries(mcpServers).map(([name, one]) => [name, shortSpec(one)]));
  const isMended = ({ kind, server, spec }: LoggedEvent) =>
    failing.has(kind) && spec !== undefined && spec !== specs.get(server);
  // Of each server: the last event that is about an entry of before; one for each server of the config.
  const lastOld = new Map<string, number>();
  history.forEach((event, index) => {
    const { server } = event;
    const isFollowing = lastOld.get(server) !== undefined && isAftermath(event);
    if (isMended(event) || isFollowing) lastOld.set(server, index);
    else if (event.kind === 'ready') lastOld.delete(server);
  });
  return history.filter(({ server }, index) => index > (lastOld.get(server) ?? -1));
}

/** What follows a failure: the end of the attempt, and of the calls that waited for it. */
function isAftermath({ kind }: LoggedEvent): boolean {
  return kind === 'call' || kind === 'cooling' || kind === 'stopped' || kind === 'idle';
}

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
