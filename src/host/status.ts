// The types of `status`, and what of it is shown to somebody who may not see everything.
// status-reading.ts reads the values.

import type { CacheStats } from '../cache/cache.ts';
import type { FaultRecord } from '../kernel/fault.ts';
import type { NoiseCounts } from '../observe/noise-text.ts';
import type { CallCounts } from '../observe/traffic.ts';
import { disclosedRecord } from '../policy/disclosure.ts';
import { isOperatorOf, type Principal } from '../policy/principal.ts';
import type { BudgetStatus } from '../policy/role-budgets/budget-status.ts';
import type { StoreHealth } from '../store/store.ts';
import type { Containment } from '../supervise/child.ts';
import type { RolloutPhase, RolloutStatus } from './rollout-status.ts';

/**
 * The state of a server.
 *
 * - `idle`: it does not run, and is started when it is needed
 * - `starting`: it is being started
 * - `ready`: it answers calls
 * - `degraded`: its circuit breaker is open or half open
 * - `cooling`: it waits for its next start
 * - `ejected`: it was restarted too often; `reload` brings it back
 * - `stopping`: it is being ended
 * - `disabled`: the config names it, but it cannot be run
 */
export type ServerState =
  | 'idle'
  | 'starting'
  | 'ready'
  | 'degraded'
  | 'cooling'
  | 'ejected'
  | 'stopping'
  | 'disabled';

/** One process of a server. */
export interface ServerChild {
  /** Its process id. */
  readonly pid: number;
  /** Which start of the server it is, counted from 1. */
  readonly generation: number;
  /** The client it works for; null: it is shared. */
  readonly client: string | null;
  /** `modern`: MCP 2026-07-28. `legacy`: an earlier version. */
  readonly era: 'legacy' | 'modern';
  /** The capabilities that were declared to it; null where they are part of each request. */
  readonly class: string | null;
  /** The client's folder that it runs in; null: the folder of its config entry. */
  readonly folder: string | null;
}

/** What went wrong last, and when. */
export interface TimedFaultRecord extends FaultRecord {
  /** When, in milliseconds since 1970. */
  readonly at: number;
}

/** The state of one server. */
export interface ServerStatus {
  /** Its name in the config. */
  readonly name: string;
  /** What it is doing. */
  readonly state: ServerState;
  /**
   * Why it is in this state, and which of its tools clients do not get, in one line; null if there
   * is nothing.
   */
  readonly cause: string | null;
  /** How it is talked to: a process, Streamable HTTP, or the transport of 2024. */
  readonly transport: 'stdio' | 'http' | 'sse';
  /** `modern`: MCP 2026-07-28. `legacy`: an earlier version. As last seen; null before the first connection. */
  readonly era: 'legacy' | 'modern' | null;
  /** The MCP version, such as `2025-11-25`. As last seen; null before the first connection. */
  readonly protocolVersion: string | null;
  /** The process last used; null: none runs, or it is at an address. */
  readonly pid: number | null;
  /** All of its processes that run. */
  readonly children: readonly ServerChild[];
  /** How often it was started. */
  readonly generation: number;
  /** True: it is started when it is needed. False: it is started with the host. */
  readonly lazy: boolean;
  /** True: it is kept running. */
  readonly pinned: boolean;
  /** May its `readOnlyHint` decide what is repeated and cached? */
  readonly trusted: boolean;
  /** Who keeps it running by a lease: the owners. */
  readonly leases: readonly string[];
  /** Calls under way. */
  readonly inFlight: number;
  /** Calls that wait for their turn. */
  readonly queued: number;
  /** Restarts in the window that now count against its limit. */
  readonly restarts: number;
  /** Restarts that are left in the window; null: without limit. */
  readonly restartsLeft: number | null;
  /** Failures in a row, as its circuit breaker counts them. */
  readonly consecutiveFailures: number;
  /** Its circuit breaker. `open`: calls are refused. `half_open`: one call may try. */
  readonly circuit: 'closed' | 'open' | 'half_open';
  /** True: it was restarted too often; `reload` brings it back. */
  readonly ejected: boolean;
  /** When it may be started or tried again, in milliseconds since 1970; null: at once. */
  readonly nextAttemptAt: number | null;
  /** What went wrong last; null: nothing since it was registered, stopped or reloaded. */
  readonly lastFault: TimedFaultRecord | null;
  /** Results in the cache. */
  readonly cacheEntries: number;
  /** How many tools it offers; null: they were not listed yet. */
  readonly tools: number | null;
  /** What ends its processes when the host is killed; null: none runs. */
  readonly containment: Containment | null;
  /**
   * Whether the state directory and the control socket are hidden from its process; null: none runs.
   */
  readonly stateHidden: boolean | null;
  /**
   * How its limits of memory and processes are enforced: by the kernel, by polling, or there are
   * none; null: none runs.
   */
  readonly limitsEnforced: 'cgroup' | 'poll' | 'none' | null;
  /** How much it has sent that belongs to no call, by kind; kinds that were not seen are absent. */
  readonly noise: NoiseCounts;
  /** The last lines of its standard error, at most 20, without secrets. */
  readonly stderr: readonly string[];
}

/** The audit log. */
export interface AuditStatus {
  /** As the config says. With `required` a call that cannot be written down is refused. */
  readonly mode: 'off' | 'on' | 'required';
  /** Why nothing can be written now, in one line; null: there is no problem. */
  readonly problem: string | null;
  /** Lines that could not be written and are missing in the log. */
  readonly lost: number;
  /** Calls that were refused because they could not be written down. */
  readonly refused: number;
  /** How often lines that this process had written were moved away or removed while it ran. */
  readonly gaps: number;
}

/** The state of the host and its servers. */
export interface HostStatus {
  /** The version of Holdfast. */
  readonly version: string;
  /** An id of this host, another one for every start. */
  readonly instance: string;
  /** What created it: `library`, `serve`, `command`, or what was passed to `createHost`. */
  readonly startedBy: string;
  /** The config file; null: the config was given as an object. */
  readonly config: string | null;
  /** How long it exists, in milliseconds. */
  readonly uptimeMs: number;
  /** Whether another version of the program is taking over; always `stable` in a program that embeds the library. */
  readonly rollout: RolloutPhase;
  /** More about that. */
  readonly rollouts: RolloutStatus;
  /** Whether what is kept on disk can be written. */
  readonly disk: StoreHealth;
  /** Whether calls are written down. */
  readonly audit: AuditStatus;
  /** The servers, in the order of their names. */
  readonly servers: readonly ServerStatus[];
  /** How the cache of results is used. */
  readonly cache: CacheStats;
  /** How calls have ended. */
  readonly calls: CallCounts;
  /**
   * What is spent of the budgets of roles, at most 1,000 counts: who sees everything is told of all, everybody else
   * of its own. What was spent before a start is read soon after it.
   */
  readonly budgets: readonly BudgetStatus[];
  /** Internal errors that were contained; the event log has their causes. */
  readonly internalErrors: number;
}

/** What counts the work of others: somebody who is no operator is not told. */
type OfOthers = 'inFlight' | 'queued' | 'cacheEntries';

/** A server as somebody is shown it. */
export type ShownServer = Omit<ServerStatus, OfOthers> & Partial<Pick<ServerStatus, OfOthers>>;

/** The state as somebody is shown it; only who sees everything has all of it. */
export type ShownStatus = Omit<HostStatus, 'servers' | 'cache' | 'internalErrors' | 'audit'> &
  Partial<Pick<HostStatus, 'cache' | 'internalErrors'>> & {
    readonly servers: readonly ShownServer[];
    readonly audit: Pick<AuditStatus, 'mode' | 'problem'> & Partial<AuditStatus>;
  };

/** What a principal that does not see everything may know. */
export interface Known {
  /** How many tools of this server it sees; null: they were not read. */
  readonly tools: (server: string) => number | null;
  readonly calls: CallCounts;
}

/**
 * The same for a principal that may not see every tool, or not how the servers are run. The status has only servers
 * that it may see; what has happened to one of them names no tool.
 */
export function shownStatus(
  status: HostStatus,
  principal: Principal,
  { tools, calls }: Known,
): ShownStatus {
  const { cache: _cache, internalErrors: _errors, audit, disk, rollouts, ...rest } = status;
  const { mode, problem } = audit;
  const isOperator = isOperatorOf(principal, '');
  const failing = "the gateway's disk is failing";
  return {
    ...rest,
    config: isOperator ? rest.config : null,
    rollouts: isOperator ? rollouts : { ...rollouts, cause: null },
    disk: disk.ok || isOperator ? disk : { ok: false, problem: failing },
    audit: isOperator ? audit : { mode, problem: problem && failing },
    calls,
    servers: status.servers.map((server) => {
      const { name } = server;
      const known = { ...server, tools: tools(name) };
      return isOperatorOf(principal, name) ? known : openServerStatus(known, principal);
    }),
  };
}

function openServerStatus(server: ServerStatus, principal: Principal): ShownServer {
  const { inFlight: _inFlight, queued: _queued, cacheEntries: _entries, ...rest } = server;
  const { cause, lastFault } = rest;
  const told = lastFault && disclosedRecord(lastFault, principal);
  return {
    ...rest,
    cause: cause === null ? null : (told?.detail ?? 'only the operator can see the cause'),
    pid: null,
    children: [],
    leases: [],
    lastFault: told,
    stderr: [],
  };
}
