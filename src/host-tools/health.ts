// health_snapshot: is this instance working, and are its servers? Everything is computed from the
// current state. `ready` means that requests are accepted; it does not mean that the last one
// succeeded or that every server is up, so one bad server does not make the instance unready.
// `generation` is that of the instance itself, 1 at its first start and one more after each
// rollout; the servers' own generations are in the full record. What the caller may not see must be
// removed from the status before it is passed in.

import type { RolloutPhase } from '../host/rollout-status.ts';
import type { ServerState, ShownServer, ShownStatus } from '../host/status.ts';
import type { FaultCode } from '../kernel/fault.ts';
import { printableLine } from '../kernel/printable.ts';
import { noiseTexts } from '../observe/noise-text.ts';
import type { TimedFault } from '../observe/traffic.ts';
import { ageText, nameWord } from './line-words.ts';

/** `stopping` is not included: such a server counts as idle, which it is about to be. */
const shownStates = [
  'ready',
  'starting',
  'degraded',
  'cooling',
  'ejected',
  'idle',
  'disabled',
] as const satisfies readonly ServerState[];

export type ServerCounts = Readonly<Record<(typeof shownStates)[number], number>>;

/** The part of a fault that everybody may see: details and stderr are in the full record only. */
export interface FaultMark {
  readonly code: FaultCode;
  readonly server: string;
  readonly tool?: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

export interface Health {
  readonly ready: boolean;
  readonly generation: number;
  readonly servers: ServerCounts;
  readonly rollout: RolloutPhase;
  /** Why it waits or has failed, if the caller may know. */
  readonly rolloutCause?: string;
  /** The path that the program was started by leads elsewhere, or nowhere. */
  readonly launchPathStable?: false;
  readonly lastFault: FaultMark | null;
}

/** The same with the last fault's whole record, and all other details. */
export interface FullHealth extends Health {
  readonly lastFault: TimedFault | null;
  readonly status: ShownStatus;
}

export interface Instance {
  /** Whether it accepts requests, or is shutting down. */
  readonly isAccepting: boolean;
  readonly generation: number;
}

export function healthSnapshot(
  status: ShownStatus,
  { isAccepting, generation }: Instance,
  lastOfTraffic: TimedFault | null,
): FullHealth {
  const { cause, launchPathStable } = status.rollouts;
  return {
    ready: isAccepting,
    generation,
    servers: countsOf(status.servers),
    rollout: status.rollout,
    ...(cause === null ? {} : { rolloutCause: cause }),
    ...(launchPathStable ? {} : { launchPathStable }),
    lastFault: lastFaultOf(status.servers, lastOfTraffic),
    status,
  };
}

export function conciseHealth({ lastFault, status, ...health }: FullHealth): Health {
  return { ...health, lastFault: lastFault && markOf(lastFault) };
}

/** One line; states without a server are omitted. */
export function healthLine(health: Health, wallNow: number): string {
  const counts = shownStates
    .filter((state) => state === 'ready' || health.servers[state] > 0)
    .map((state) => `${state}=${health.servers[state]}`);
  const words = [
    health.ready ? 'ready' : 'not-ready',
    `gen=${health.generation}`,
    'servers',
    ...counts,
    ...(health.lastFault ? [faultWords(health.lastFault, wallNow)] : []),
    ...(health.rollout === 'stable' ? [] : [`rollout=${health.rollout}`]),
    ...(health.launchPathStable === false ? ['launch_path=unstable'] : []),
  ];
  return words.join(' ');
}

/** That line, then the instance, then each server with the cause of its state. */
export function healthLines(health: FullHealth, wallNow: number): string[] {
  const { status } = health;
  const { version, uptimeMs, config, disk, calls, cache } = status;
  return [
    healthLine(health, wallNow),
    `version=${version} up=${ageText(uptimeMs)} config=${config === null ? 'none' : nameWord(config)} ` +
      (disk.ok ? 'disk=ok' : `disk=failing: ${printableLine(disk.problem)}`),
    `calls=${calls.total} ok=${calls.ok} is_error=${calls.isError} fault=${calls.faults} replay=${calls.replays}`,
    ...(cache === undefined ? [] : [cacheLine(cache)]),
    ...rolloutLines(health, wallNow),
    ...(status.servers.length === 0 ? [] : ['servers:']),
    ...status.servers.map((server) => serverLine(server, wallNow)),
  ];
}

/** Nothing while there was none, and none is wanted. */
function rolloutLines({ status }: FullHealth, wallNow: number): string[] {
  const { rollout, rollouts } = status;
  const { count, at, cause } = rollouts;
  if (rollout === 'stable' && count === 0) return [];
  const since = at === null ? [] : [`age=${ageText(wallNow - at)}`];
  const words = [`rollout=${rollout}`, ...since, `rollouts=${count}`].join(' ');
  return [cause === null ? words : `${words}: ${printableLine(cause)}`];
}

function cacheLine({ hits, misses, entries, bytes }: NonNullable<ShownStatus['cache']>): string {
  return `cache_hits=${hits} cache_misses=${misses} cache_entries=${entries} cache_bytes=${bytes}`;
}

function serverLine(server: ShownServer, wallNow: number): string {
  const { name, state, generation, pid, tools, restarts, nextAttemptAt } = server;
  const { inFlight = 0, queued = 0 } = server;
  const words = [
    name,
    state,
    `gen=${generation}`,
    ...(pid === null ? [] : [`pid=${pid}`]),
    ...(tools === null ? [] : [`tools=${tools}`]),
    ...(inFlight === 0 ? [] : [`in_flight=${inFlight}`]),
    ...(queued === 0 ? [] : [`queued=${queued}`]),
    ...(restarts === 0 ? [] : [`recent_failures=${restarts}`]),
    ...(nextAttemptAt === null ? [] : [`next_attempt_in=${ageText(nextAttemptAt - wallNow)}`]),
  ];
  const causes = server.cause === null ? [] : [printableLine(server.cause)];
  const remarks = [...causes, ...noiseTexts(server.noise)];
  return words.join(' ') + (remarks.length === 0 ? '' : `: ${remarks.join('; ')}`);
}

/** Which fault, which server and how long ago: a fault that is never cleared must show its age. */
export function faultWords({ code, server, tool, at }: FaultMark, wallNow: number): string {
  const words = [
    `last_fault=${code}`,
    ...(server === '' ? [] : [`server=${server}`]),
    ...(tool === undefined ? [] : [`tool=${nameWord(tool)}`]),
    `age=${ageText(wallNow - at)}`,
  ];
  return words.join(' ');
}

function countsOf(servers: readonly ShownServer[]): ServerCounts {
  const counts = Object.fromEntries(shownStates.map((state) => [state, 0])) as Record<
    (typeof shownStates)[number],
    number
  >;
  for (const { state } of servers) counts[state === 'stopping' ? 'idle' : state] += 1;
  return counts;
}

/**
 * The latest fault of a server or a call. Faults of servers that are not in the status are omitted:
 * the servers were removed, or the caller may not see them.
 */
function lastFaultOf(
  servers: readonly ShownServer[],
  lastOfTraffic: TimedFault | null,
): TimedFault | null {
  const isKnown = (name: string) => name === '' || servers.some((server) => server.name === name);
  let last = lastOfTraffic && isKnown(lastOfTraffic.server) ? lastOfTraffic : null;
  for (const { lastFault } of servers) {
    if (lastFault !== null && lastFault.at > (last?.at ?? -Infinity)) last = lastFault;
  }
  return last;
}

function markOf({ code, server, tool, at }: TimedFault): FaultMark {
  return { code, server, ...(tool === undefined ? {} : { tool }), at };
}
