// The counters behind telemetry_snapshot: every request, how each ended and how long it took, in
// total and by operation. It is part of every call, so a known operation costs a look-up and a few
// additions and allocates nothing. Clients choose the names of their methods, so the number of
// operations and the length of their names are bounded; the rest is counted together. Counters
// never decrease: a sum of doubles saturates by itself, and a clock that jumps cannot make a
// latency negative. The last fault stays, with its time, until the next one; a success does not
// clear it.

import type { Clock } from '../kernel/clock.ts';
import type { Fault, FaultRecord } from '../kernel/fault.ts';
import { isTelling, type Outcome, outcomeOf } from './outcome.ts';

/** The whole record, with the wall time in milliseconds. */
export type TimedFault = FaultRecord & { readonly at: number };

/** All times in milliseconds. */
export interface Latency {
  readonly totalMs: number;
  readonly averageMs: number;
  readonly maxMs: number;
  readonly lastMs: number;
}

/** How requests ended; only those that have ended. */
export interface Endings {
  readonly requests: number;
  readonly successes: number;
  readonly responseErrors: number;
  readonly transportFaults: number;
  readonly cancelled: number;
  readonly retries: number;
  readonly latency: Latency;
}

export interface MethodTraffic extends Endings {
  /** The operation key. */
  readonly method: string;
  /** Of the server that answered last; null where none was called. */
  readonly generation: number | null;
}

export interface TrafficSnapshot extends Endings {
  /** Of the total: every request that was begun, including those still running. */
  readonly requests: number;
  readonly inFlight: number;
  /** The most used first. */
  readonly methods: readonly MethodTraffic[];
  readonly lastFault: TimedFault | null;
}

/** The part of it that somebody may see; how much is under way is known only of all together. */
export interface CutTraffic {
  readonly snapshot: Omit<TrafficSnapshot, 'inFlight'>;
  readonly calls: CallCounts;
}

/** How calls of servers ended: in a result, in a tool's own error (`isError`), or in a fault. */
export interface CallCounts {
  /** All calls that have ended. */
  readonly total: number;
  /** Answered, including from the cache. */
  readonly ok: number;
  /** Answered with `isError`. */
  readonly isError: number;
  /** Ended in a fault. */
  readonly faults: number;
  /** Calls that were repeated, because they may have run and are safe to repeat. */
  readonly replays: number;
}

/** The counter for everything beyond the bounds, and for what a caller assigns to it. */
export const otherOperations = 'other';

const manyOperations = 1_000;
const maxKeyLength = 256;

/** The name of an operation for fault injection, the log and telemetry: the method, or the tool. */
export function operationKey(method: string, server?: string, tool?: string): string {
  return server === undefined || tool === undefined ? method : `${method}:${server}/${tool}`;
}

const toolCalls = 'tools/call:';

/**
 * The tool that an operation key names; a server's name has no slash. Undefined where it names only
 * a method.
 */
function toolOf(key: string): { readonly server: string; readonly tool: string } | undefined {
  const slash = key.indexOf('/', toolCalls.length);
  if (slash < 0 || !key.startsWith(toolCalls)) return undefined;
  return { server: key.slice(toolCalls.length, slash), tool: key.slice(slash + 1) };
}

/** Whether the caller may see this tool. */
export type MayKnow = (server: string, tool: string) => boolean;

/** The counters of one operation, for another process. */
export interface WrittenCounters {
  readonly requests: number;
  readonly successes: number;
  readonly errorResults: number;
  readonly responseErrors: number;
  readonly transportFaults: number;
  readonly cancelled: number;
  readonly retries: number;
  readonly totalMs: number;
  readonly maxMs: number;
  readonly lastMs: number;
  readonly generation: number | null;
}

/** All that was counted, for the process that goes on counting. */
export interface WrittenTraffic {
  readonly begun: number;
  readonly all: WrittenCounters;
  readonly calls: WrittenCounters;
  readonly other: WrittenCounters;
  readonly operations: readonly (readonly [key: string, counters: WrittenCounters])[];
  readonly lastFault: TimedFault | null;
}

export class Traffic {
  readonly #clock: Clock;
  readonly #maxOperations: number;
  /** By operation key; at most `#maxOperations`, those of tools until their server is removed. */
  readonly #operations = new Map<string, Counters>();
  #other = new Counters();
  #all = new Counters();
  /** Of these, calls of servers. */
  #calls = new Counters();
  #begun = 0;
  #lastFault: TimedFault | null = null;

  constructor(clock: Clock, maxOperations = manyOperations) {
    this.#clock = clock;
    this.#maxOperations = maxOperations;
  }

  /** A message was received; nothing about it is known yet. */
  began(): void {
    this.#begun += 1;
  }

  /**
   * `answeredBy`: a call of a server, or a request that the gateway answers itself. `generation`:
   * of the server.
   */
  ended(
    operation: string,
    outcome: Outcome | 'is_error',
    latencyMs: number,
    answeredBy: 'server' | 'gateway' = 'gateway',
    generation: number | null = null,
  ): void {
    const elapsedMs = sound(latencyMs);
    const counters = this.#of(operation);
    counters.count(outcome, elapsedMs);
    if (generation !== null) counters.generation = generation;
    this.#all.count(outcome, elapsedMs);
    if (answeredBy === 'server') this.#calls.count(outcome, elapsedMs);
  }

  /** Ended in a fault, which is remembered if it says something about the health of the host. */
  failed(
    operation: string,
    fault: Fault,
    latencyMs: number,
    answeredBy: 'server' | 'gateway' = 'gateway',
  ): void {
    const { generation = null } = fault.record;
    this.ended(operation, outcomeOf(fault.code), latencyMs, answeredBy, generation);
    if (isTelling(fault.code)) {
      this.#lastFault = { ...fault.record, at: this.#clock.wallNow() };
    }
  }

  /** Sent to a server once more. */
  retried(operation: string): void {
    this.#of(operation).retries += 1;
    this.#all.retries += 1;
    this.#calls.retries += 1;
  }

  /** Of the requests that were calls of servers; for `status`. */
  get calls(): CallCounts {
    return this.#calls.calls();
  }

  /** Of the tools that the caller may see, and of nothing else. */
  cutTo(mayKnow: MayKnow, isServer: (name: string) => boolean): CutTraffic {
    const [all, calls] = [new Counters(), new Counters()];
    const methods = [...this.#operations].flatMap(([method, counters]): MethodTraffic[] => {
      const named = toolOf(method);
      if (!named || !mayKnow(named.server, named.tool)) return [];
      all.add(counters);
      if (isServer(named.server)) calls.add(counters);
      return [{ method, ...counters.endings(), generation: counters.generation }];
    });
    const { lastFault } = this;
    const isKnown = lastFault?.tool !== undefined && mayKnow(lastFault.server, lastFault.tool);
    const fault = isKnown ? lastFault : null;
    const snapshot = { ...all.endings(), methods: methods.sort(byHeat), lastFault: fault };
    return { snapshot, calls: calls.calls() };
  }

  /** Its tools are counted with the others from now on; no sum decreases. */
  serverGone(server: string): void {
    for (const [key, counters] of this.#operations) {
      if (toolOf(key)?.server !== server) continue;
      this.#other.add(counters);
      this.#operations.delete(key);
    }
  }

  get lastFault(): TimedFault | null {
    return this.#lastFault;
  }

  /** All that was counted so far, for another process: here the count begins again. */
  take(): WrittenTraffic {
    const written = {
      begun: this.#begun,
      all: this.#all.written(),
      calls: this.#calls.written(),
      other: this.#other.written(),
      operations: [...this.#operations].map(([key, one]) => [key, one.written()] as const),
      lastFault: this.#lastFault,
    };
    this.#begun = 0;
    this.#all = new Counters();
    this.#calls = new Counters();
    this.#other = new Counters();
    this.#operations.clear();
    return written;
  }

  /** What another process has counted. */
  add({ begun, all, calls, other, operations, lastFault }: WrittenTraffic): void {
    this.#begun += begun;
    this.#all.add(all);
    this.#calls.add(calls);
    this.#other.add(other);
    for (const [key, written] of operations) {
      const counters = this.#of(key);
      counters.add(written);
      counters.generation ??= written.generation;
    }
    if (lastFault && lastFault.at >= (this.#lastFault?.at ?? 0)) this.#lastFault = lastFault;
  }

  /** Tools that the caller may not see are counted with the others. */
  snapshot(mayKnow: MayKnow = () => true): TrafficSnapshot {
    const other = new Counters();
    other.add(this.#other);
    const rows: [string, Counters][] = [[otherOperations, other]];
    for (const row of this.#operations) {
      const named = toolOf(row[0]);
      if (!named || mayKnow(named.server, named.tool)) rows.push(row);
      else other.add(row[1]);
    }
    const methods = rows
      .filter(([, { requests, retries }]) => requests > 0 || retries > 0)
      .map(([method, counters]): MethodTraffic => {
        return { method, ...counters.endings(), generation: counters.generation };
      });
    return {
      ...this.#all.endings(),
      requests: this.#begun,
      inFlight: Math.max(0, this.#begun - this.#all.requests),
      methods: methods.sort(byHeat),
      lastFault: this.#lastFault,
    };
  }

  #of(operation: string): Counters {
    const known = this.#operations.get(operation);
    if (known !== undefined) return known;
    const isBeyond =
      this.#operations.size >= this.#maxOperations || operation.length > maxKeyLength;
    if (isBeyond || operation === otherOperations) return this.#other;
    const counters = new Counters();
    this.#operations.set(operation, counters);
    return counters;
  }
}

class Counters {
  requests = 0;
  successes = 0;
  errorResults = 0;
  responseErrors = 0;
  transportFaults = 0;
  cancelled = 0;
  retries = 0;
  totalMs = 0;
  maxMs = 0;
  lastMs = 0;
  generation: number | null = null;

  count(outcome: Outcome | 'is_error', elapsedMs: number): void {
    this.requests += 1;
    if (outcome === 'is_error') this.errorResults += 1;
    // A tool's own error is an answer.
    if (outcome === 'ok' || outcome === 'is_error') this.successes += 1;
    else if (outcome === 'response_error') this.responseErrors += 1;
    else if (outcome === 'transport_fault') this.transportFaults += 1;
    else this.cancelled += 1;
    this.totalMs = Math.min(this.totalMs + elapsedMs, longestMs);
    if (elapsedMs > this.maxMs) this.maxMs = elapsedMs;
    this.lastMs = elapsedMs;
  }

  /** It is not known which of the two ended last, so the longer one is reported. */
  add(counters: WrittenCounters): void {
    this.requests += counters.requests;
    this.errorResults += counters.errorResults;
    this.successes += counters.successes;
    this.responseErrors += counters.responseErrors;
    this.transportFaults += counters.transportFaults;
    this.cancelled += counters.cancelled;
    this.retries += counters.retries;
    this.totalMs = Math.min(this.totalMs + counters.totalMs, longestMs);
    this.maxMs = Math.max(this.maxMs, counters.maxMs);
    this.lastMs = Math.max(this.lastMs, counters.lastMs);
  }

  written(): WrittenCounters {
    return { ...this };
  }

  calls(): CallCounts {
    const { requests: total, successes, errorResults: isError, retries: replays } = this;
    return { total, ok: successes - isError, isError, faults: total - successes, replays };
  }

  endings(): Endings {
    const { requests, successes, responseErrors, transportFaults, cancelled, retries } = this;
    const latency = {
      totalMs: hundredths(this.totalMs),
      averageMs: hundredths(requests === 0 ? 0 : this.totalMs / requests),
      maxMs: hundredths(this.maxMs),
      lastMs: hundredths(this.lastMs),
    };
    return { requests, successes, responseErrors, transportFaults, cancelled, retries, latency };
  }
}

const longestMs = Number.MAX_SAFE_INTEGER;

/** Never negative, never more than can be summed; a value that is not a number counts as 0. */
function sound(latencyMs: number): number {
  return latencyMs > 0 ? Math.min(latencyMs, longestMs) : 0;
}

function hundredths(ms: number): number {
  return ms < 1e12 ? Math.round(ms * 100) / 100 : Math.round(ms);
}

function byHeat(a: MethodTraffic, b: MethodTraffic): number {
  return (
    b.requests - a.requests ||
    b.transportFaults - a.transportFaults ||
    b.responseErrors - a.responseErrors ||
    (a.method < b.method ? -1 : 1)
  );
}
