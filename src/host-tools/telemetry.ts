// telemetry_snapshot: the traffic of this instance since it started. Requests are counted in
// traffic.ts; restarts of servers are counted where they are started (supervise/standing.ts) and
// never decrease. A start after an idle stop is such a restart too; `recentFailures` is the number
// of processes or connections that failed lately, within each server's own restart window.

import type { ShownStatus } from '../host/status.ts';
import { printableLine } from '../kernel/printable.ts';
import type {
  Endings,
  Latency,
  MethodTraffic,
  TimedFault,
  TrafficSnapshot,
} from '../observe/traffic.ts';
import { faultWords } from './health.ts';
import { nameWord } from './line-words.ts';

interface Totals extends Omit<Endings, 'latency'> {
  readonly inFlight: number;
  readonly workerRestarts: number;
  readonly recentFailures: number;
  readonly hostRollouts: number;
}

export interface HotMethod {
  readonly method: string;
  readonly requests: number;
  readonly responseErrors: number;
  readonly transportFaults: number;
  readonly retries: number;
  readonly averageMs: number;
  readonly maxMs: number;
}

export interface Telemetry extends Totals {
  readonly hotMethods: readonly HotMethod[];
}

/** Everything. */
export interface FullTelemetry extends Totals {
  readonly latency: Latency;
  readonly methods: readonly MethodTraffic[];
  readonly lastFault: TimedFault | null;
}

const shownMethods = 6;

export function telemetrySnapshot(
  traffic: TrafficSnapshot,
  { servers }: Pick<ShownStatus, 'servers'>,
  { workerRestarts, hostRollouts }: Pick<Totals, 'workerRestarts' | 'hostRollouts'>,
): FullTelemetry {
  const { latency, methods, lastFault, ...counts } = traffic;
  return {
    ...counts,
    workerRestarts,
    recentFailures: sum(servers.map(({ restarts }) => restarts)),
    hostRollouts,
    latency,
    methods,
    lastFault,
  };
}

export function conciseTelemetry(telemetry: FullTelemetry): Telemetry {
  const { latency, methods, lastFault, ...totals } = telemetry;
  return { ...totals, hotMethods: methods.slice(0, shownMethods).map(hotMethod) };
}

/** Totals, restarts, and the most used methods if there are any. */
export function telemetryLines(telemetry: Telemetry): string[] {
  return [...totalLines(telemetry), ...section('hot methods:', telemetry.hotMethods)];
}

/** The same with every method, the latency of all together, and the last fault. */
export function fullTelemetryLines(telemetry: FullTelemetry, wallNow: number): string[] {
  const { latency, methods, lastFault } = telemetry;
  return [
    ...totalLines(telemetry),
    `avg_ms=${latency.averageMs} max_ms=${latency.maxMs} last_ms=${latency.lastMs}`,
    ...(lastFault === null
      ? []
      : [`${faultWords(lastFault, wallNow)}: ${printableLine(lastFault.detail)}`]),
    ...section('methods:', methods.map(hotMethod)),
  ];
}

function totalLines(totals: Totals): string[] {
  const { requests, successes, responseErrors, transportFaults, retries } = totals;
  const { cancelled, inFlight, workerRestarts, recentFailures, hostRollouts } = totals;
  return [
    `requests=${requests} success=${successes} response_error=${responseErrors} ` +
      `transport_fault=${transportFaults} retry=${retries} cancelled=${cancelled} in_flight=${inFlight}`,
    `worker_restarts=${workerRestarts} recent_failures=${recentFailures} host_rollouts=${hostRollouts}`,
  ];
}

function section(heading: string, methods: readonly HotMethod[]): string[] {
  return methods.length === 0 ? [] : [heading, ...methods.map(methodLine)];
}

/** A client chooses the method's name: it must not be able to look like a line of ours. */
function methodLine(hot: HotMethod): string {
  const { method, requests, responseErrors, transportFaults, retries, averageMs, maxMs } = hot;
  return (
    `${nameWord(method)} req=${requests} err=${responseErrors} transport=${transportFaults} ` +
    `retry=${retries} avg_ms=${averageMs} max_ms=${maxMs}`
  );
}

function hotMethod(traffic: MethodTraffic): HotMethod {
  const { method, requests, responseErrors, transportFaults, retries, latency } = traffic;
  const { averageMs, maxMs } = latency;
  return { method, requests, responseErrors, transportFaults, retries, averageMs, maxMs };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
