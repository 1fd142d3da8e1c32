// The counters behind telemetry_snapshot: every request this instance was asked, how each ended and
// how long it took, in total and by operation. It stands on the way of every call, so a known
// operation costs a look-up and a few additions, and makes no garbage. A client chooses the names
// of its methods, so the number of operations and the length of their names are bounded; what is
// beyond is counted together. Counters never go back: a sum of doubles saturates by itself, and a
// clock that jumps cannot make a latency negative. The last fault stays, with its time, until the
// next one: a success says nothing about it.

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

/** How requests ended; only those that have. */
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
  /** Of the server that answered last; null where none was asked. */
  readonly generation: number | null;
}

export interface TrafficSnapshot extends Endings {
  /** Of the total: every request that was begun, also those still on their way. */
  readonly requests: number;
  readonly inFlight: number;
  /** The hottest first. */
  readonly methods: readonly MethodTraffic[];
  readonly lastFault: TimedFault | null;
}

/** How calls of servers ended: in a result, in a tool's own error (`isError`), or in a fault. */
export interface CallCounts {
  /** All calls that have ended. */
  readonly total: number;
  /** Answered, also from the cache. */
  readonly ok: number;
  /** Answered with `isError`. */
  readonly isError: number;
  /** Ended in a fault. */
  readonly faults: number;
  /** Calls that were sent once more, because they may have run and are safe to repeat. */
  readonly replays: number;
}

/** Where everything beyond the bounds is counted, and what a caller counts there itself. */
export const otherOperations = 'other';

const maxOperations = 1_000;
const maxKeyLength = 256;

/** What fault injection, the log and telemetry call an operation: the method, or the tool. */
export function operationKey(method: string, server?: string, tool?: string): string {
  return server === undefined || tool === undefined ? method : `${method}:${server}/${tool}`;
}

const toolCalls = 'tools/call:';

/** The tool that an operation key names; a server's name has no slash. Undefined where it names a method alone. */
function toolOf(key: string): { readonly server: string; readonly tool: string } | undefined {
  const slash = key.indexOf('/', toolCalls.length);
  if (slash < 0 || !key.startsWith(toolCalls)) return undefined;
  return { server: key.slice(toolCalls.length, slash), tool: key.slice(slash + 1) };
}

/** May the asker know of this tool? */
export type MayKnow = (server: string, tool: string) => boolean;

export class Traffic {
  readonly #clock: Clock;
  /** By operation key; at most `maxOperations`, for ever. */
  readonly #operations = new Map<string, Counters>();
  readonly #other = new Counters();
  readonly #all = new Counters();
  /** Of these, calls of servers. */
  readonly #calls = new Counters();
  #begun = 0;
  #lastFault: TimedFault | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A message has come in; nothing about it is known yet. */
  began(): void {
    this.#begun += 1;
  }

  /** `answeredBy`: a call of a server, or what the gateway answers by itself. `generation`: of the server. */
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

  /** Ended in a fault, which is remembered if it tells something about our health. */
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
    const { requests: total, successes, errorResults: isError, retries: replays } = this.#calls;
    return { total, ok: successes - isError, isError, faults: total - successes, replays };
  }

  get lastFault(): TimedFault | null {
    return this.#lastFault;
  }

  /** What the asker may not know by name is counted among the others. */
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
    const isBeyond = this.#operations.size >= maxOperations || operation.length > maxKeyLength;
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

  /** Which of the two ended last is not known: the longer one is told. */
  add(counters: Counters): void {
    this.requests += counters.requests;
    this.successes += counters.successes;
    this.responseErrors += counters.responseErrors;
    this.transportFaults += counters.transportFaults;
    this.cancelled += counters.cancelled;
    this.retries += counters.retries;
    this.totalMs = Math.min(this.totalMs + counters.totalMs, longestMs);
    this.maxMs = Math.max(this.maxMs, counters.maxMs);
    this.lastMs = Math.max(this.lastMs, counters.lastMs);
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

/** Never negative, never beyond what can be summed; what is not a number took no time. */
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
