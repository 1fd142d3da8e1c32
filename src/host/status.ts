// What state everything is in, in the words of the contract. A reading, never an action: nothing
// is started, asked or waited for.

import type { CacheStats } from '../cache/cache.ts';
import type { FaultRecord } from '../kernel/fault.ts';
import type { NoiseCounts } from '../observe/noise-text.ts';
import type { CallCounts } from '../observe/traffic.ts';
import { disclosedRecord, seesOperations } from '../policy/disclosure.ts';
import type { Principal } from '../policy/principal.ts';
import type { StoreHealth } from '../store/store.ts';
import type { Containment } from '../supervise/child.ts';
import type { Server } from './servers/server.ts';

export type ServerState =
  | 'idle'
  | 'starting'
  | 'ready'
  | 'degraded'
  | 'cooling'
  | 'ejected'
  | 'stopping'
  | 'disabled';

export interface ServerStatus {
  readonly name: string;
  readonly state: ServerState;
  /** Why it is in this state, and what clients miss of it, in one line; null if there is nothing. */
  readonly cause: string | null;
  readonly transport: 'stdio' | 'http' | 'sse';
  /** As last seen; null before the first connection. */
  readonly era: 'legacy' | 'modern' | null;
  readonly protocolVersion: string | null;
  readonly pid: number | null;
  readonly children: readonly {
    readonly pid: number;
    readonly generation: number;
    readonly client: string | null;
    readonly era: 'legacy' | 'modern';
    /** What the clients it was greeted for can be asked; null where that travels with each request. */
    readonly class: string | null;
    readonly folder: string | null;
  }[];
  readonly generation: number;
  readonly lazy: boolean;
  readonly pinned: boolean;
  readonly trusted: boolean;
  readonly leases: readonly string[];
  readonly inFlight: number;
  readonly queued: number;
  readonly restarts: number;
  readonly restartsLeft: number | null;
  readonly consecutiveFailures: number;
  readonly circuit: 'closed' | 'open' | 'half_open';
  readonly ejected: boolean;
  /** Milliseconds since the epoch. */
  readonly nextAttemptAt: number | null;
  readonly lastFault: (FaultRecord & { readonly at: number }) | null;
  readonly cacheEntries: number;
  readonly tools: number | null;
  readonly containment: Containment | null;
  readonly limitsEnforced: 'cgroup' | 'poll' | 'none' | null;
  /** How much it has sent that belongs to no call, by kind; kinds that were not seen are absent. */
  readonly noise: NoiseCounts;
  readonly stderr: readonly string[];
}

export interface HostStatus {
  readonly version: string;
  readonly instance: string;
  readonly startedBy: string;
  readonly config: string | null;
  readonly uptimeMs: number;
  readonly rollout: 'stable';
  readonly disk: StoreHealth;
  readonly servers: readonly ServerStatus[];
  readonly cache: CacheStats;
  readonly calls: CallCounts;
  /** Errors of our own that were contained; the event log has their causes. */
  readonly internalErrors: number;
}

/** Monotonic and wall time of one moment, to show the one as the other. */
export interface Moment {
  readonly now: number;
  readonly wallNow: number;
}

const shownStderrLines = 20;

/** `note` is what a face has to say of a server besides its state. */
export function serverStatus(
  server: Server,
  cacheEntries: number,
  moment: Moment,
  note: string | null,
): ServerStatus {
  const { supervisor, admission, config } = server;
  const { connection, leases, breaker } = supervisor;
  const { child } = connection ?? {};
  const pid = connection?.pid ?? null;
  const { lastFault } = supervisor;
  return {
    name: server.name,
    state: stateOf(server),
    cause: [causeOf(server), note].filter((text) => text !== null).join('; ') || null,
    transport: config.type,
    era: server.greeting?.era ?? null,
    protocolVersion: server.greeting?.protocolVersion ?? null,
    pid,
    children: childrenOf(server),
    generation: supervisor.generation,
    lazy: config.lazy,
    pinned: leases.isPinned,
    trusted: config.trusted,
    leases: leases.owners,
    inFlight: admission.inside,
    queued: admission.queued,
    restarts: supervisor.restarts,
    restartsLeft: supervisor.restartsLeft,
    consecutiveFailures: breaker.failures,
    circuit: breaker.circuit,
    ejected: supervisor.isEjected,
    nextAttemptAt: nextAttemptAt(server, moment),
    lastFault: lastFault ? { ...lastFault.fault.record, at: lastFault.at } : null,
    cacheEntries,
    tools: server.catalogue.offered?.size ?? null,
    containment: child?.containment ?? null,
    limitsEnforced: child?.enforced ?? null,
    noise: Object.fromEntries(server.noise),
    stderr: server.stderr.slice(-shownStderrLines),
  };
}

function childrenOf(server: Server): ServerStatus['children'] {
  return [...server.slots.all()].flatMap(({ supervisor, owner, aim }) => {
    const pid = supervisor.connection?.pid ?? null;
    const { connection } = supervisor;
    if (!connection || pid === null) return [];
    const { era } = connection;
    const clients = era === 'legacy' ? aim.clients.key : null;
    const { generation } = supervisor;
    return [{ pid, generation, client: owner, era, class: clients, folder: null }];
  });
}

/** A server that the config names but that cannot be run. */
export function disabledStatus(name: string, cause: string): ServerStatus {
  return {
    name,
    state: 'disabled',
    cause,
    transport: 'stdio',
    era: null,
    protocolVersion: null,
    pid: null,
    children: [],
    generation: 0,
    lazy: true,
    pinned: false,
    trusted: false,
    leases: [],
    inFlight: 0,
    queued: 0,
    restarts: 0,
    restartsLeft: null,
    consecutiveFailures: 0,
    circuit: 'closed',
    ejected: false,
    nextAttemptAt: null,
    lastFault: null,
    cacheEntries: 0,
    tools: null,
    containment: null,
    limitsEnforced: null,
    noise: {},
    stderr: [],
  };
}

function stateOf(server: Server): ServerState {
  const { phase, breaker, isEjected } = server.supervisor;
  if (phase.kind === 'ended') return 'stopping';
  if (isEjected) return 'ejected';
  if (phase.kind === 'ejected' || phase.kind === 'stopping') return phase.kind;
  return breaker.circuit === 'closed' ? phase.kind : 'degraded';
}

function causeOf(server: Server): string | null {
  const { phase, breaker, lastFault } = server.supervisor;
  const isFine = phase.kind === 'ready' && breaker.circuit === 'closed';
  return isFine || !lastFault ? null : lastFault.fault.message;
}

function nextAttemptAt(server: Server, { now, wallNow }: Moment): number | null {
  const { phase, breaker } = server.supervisor;
  const at = phase.kind === 'cooling' ? phase.until : breaker.probeAt;
  return at === null || at <= now ? null : Math.round(wallNow + (at - now));
}

/** The same for somebody who may not know of every server, or of every tool whose fault came last. */
export function knownStatus(
  status: HostStatus,
  mayKnow: (server: string, tool: string | null) => boolean,
): HostStatus {
  const servers = status.servers.filter(({ name }) => mayKnow(name, null));
  return {
    ...status,
    servers: servers.map((server) => {
      const { name, lastFault } = server;
      const isHidden = lastFault?.tool !== undefined && !mayKnow(name, lastFault.tool);
      return isHidden ? { ...server, lastFault: null } : server;
    }),
  };
}

/** The same for somebody who may not see how the servers are run. */
export function disclosedStatus(status: HostStatus, principal: Principal): HostStatus {
  if (seesOperations(principal)) return status;
  const { disk, servers } = status;
  return {
    ...status,
    config: null,
    disk: disk.ok ? disk : { ok: false, problem: "the gateway's disk fails" },
    servers: servers.map((server) => openServerStatus(server, principal)),
  };
}

function openServerStatus(server: ServerStatus, principal: Principal): ServerStatus {
  const { cause, lastFault } = server;
  const told = lastFault && disclosedRecord(lastFault, principal);
  return {
    ...server,
    cause: cause === null ? null : (told?.detail ?? 'its operator knows why'),
    pid: null,
    children: [],
    leases: [],
    lastFault: told,
    stderr: [],
  };
}
