// The calls that workers have made, by worker and call id: those that run, and those that were answered, for as
// long as somebody may ask for them again. A call id is admitted once. Each worker may have a limited number
// running, and a limited number of bytes of requests; answers are kept for some minutes, and longer while they are being pulled, within a limit of their number and one of their bytes. Beyond either
// the worker that has most of it loses its oldest, so that one that does not fetch its answers takes no room of the
// others. Of the requests that were refused before they ran only those are in the book that are kept: their letters may come again.

import type { Clock } from '../../kernel/clock.ts';
import type { Caught } from '../../kernel/contain.ts';
import { OwnerCounts } from '../../kernel/owner-counts.ts';
import { replyMs } from '../call-ids.ts';
import type { BrokeredCall } from './brokered-call.ts';

export interface CallBookLimits {
  /** Of those that are kept, and as many that are told: subscriptions take no place of calls. */
  readonly runningOfWorker: number;
  /** Of their requests, of both together; one is possible, however large. */
  readonly runningBytesOfWorker: number;
  /** Answers of one worker that the broker has refused for now; beyond it they are not tried again. */
  readonly waitingOfWorker: number;
  readonly answered: number;
  readonly answeredBytes: number;
  readonly answeredMs: number;
  /** Of one that is being pulled, from the answer on. */
  readonly pulledMs: number;
}

export const usualCallBookLimits: CallBookLimits = {
  runningOfWorker: 64,
  runningBytesOfWorker: 8 * 1024 * 1024,
  waitingOfWorker: 64,
  answered: 4_096,
  answeredBytes: 64 * 1024 * 1024,
  answeredMs: 120_000,
  // The broker keeps the announcement as long.
  pulledMs: replyMs,
};

interface Answered {
  readonly call: BrokeredCall;
  readonly until: number;
  /** However often it is pulled. */
  readonly latest: number;
}

/** The answers of one worker. */
interface Holding {
  bytes: number;
  /** Oldest first. */
  readonly keys: Set<string>;
}

export class CallBook {
  readonly #clock: Clock;
  readonly #limits: CallBookLimits;
  /** By key; at most `runningOfWorker` for each worker, and those below. */
  readonly #calls = new Map<string, BrokeredCall>();
  /** Those that were answered or pulled longest ago first, by key; at most `answered`. */
  readonly #answered = new Map<string, Answered>();
  /** By worker; only those that have any of the answers above. */
  readonly #holdings = new Map<string, Holding>();
  /** How many run, by worker and way; only those that have any. */
  readonly #running = new OwnerCounts();
  /** Bytes of requests that run, by worker; only those that have any. */
  readonly #runningBytes = new OwnerCounts();
  /** Answers that wait for another try, by worker; only those that have any. */
  readonly #waiting = new OwnerCounts();
  #bytes = 0;

  readonly caught: Caught;

  constructor(clock: Clock, caught: Caught, limits: CallBookLimits = usualCallBookLimits) {
    this.#clock = clock;
    this.caught = caught;
    this.#limits = limits;
  }

  get(key: string): BrokeredCall | undefined {
    this.#forgetOld();
    return this.#calls.get(key);
  }

  hasRoomFor(call: BrokeredCall): boolean {
    const { runningOfWorker, runningBytesOfWorker } = this.#limits;
    const bytes = this.#runningBytes.of(call.worker);
    if (bytes > 0 && bytes + call.requestBytes > runningBytesOfWorker) return false;
    return this.#running.of(lineOf(call)) < runningOfWorker;
  }

  /** How many workers have any that run. */
  get workers(): number {
    return new Set(this.running.map(({ worker }) => worker)).size;
  }

  /** Those that run, and those that were answered. */
  get all(): Iterable<BrokeredCall> {
    return this.#calls.values();
  }

  get running(): readonly BrokeredCall[] {
    return [...this.#calls.values()].filter(({ isAnswered }) => !isAnswered);
  }

  admit(call: BrokeredCall): void {
    this.#calls.set(call.key, call);
    this.#running.add(lineOf(call));
    this.#runningBytes.add(call.worker, call.requestBytes);
  }

  answered(call: BrokeredCall): void {
    this.#ended(call);
    this.#keepAnswerOf(call);
  }

  #keepAnswerOf(call: BrokeredCall): void {
    const now = this.#clock.now();
    const { answeredMs, pulledMs } = this.#limits;
    this.#answered.set(call.key, { call, until: now + answeredMs, latest: now + pulledMs });
    this.#hold(call);
    this.#forgetOld();
    this.#makeRoom();
  }

  /** A part of its answer was asked for: somebody is still fetching it. */
  pulled({ key }: BrokeredCall): void {
    const answered = this.#answered.get(key);
    if (answered === undefined) return;
    const until = Math.min(this.#clock.now() + this.#limits.answeredMs, answered.latest);
    this.#answered.delete(key);
    this.#answered.set(key, { ...answered, until });
  }

  /** A kept letter that is refused: should it come again, it is answered in the same way. */
  refused(call: BrokeredCall): void {
    this.#calls.set(call.key, call);
    this.#keepAnswerOf(call);
  }

  withdrawn(call: BrokeredCall): void {
    this.#ended(call);
    this.#calls.delete(call.key);
  }

  /** Whether its answer, which was refused for now, is tried again: then it waits until `hasWaited`. */
  mayWait({ worker }: BrokeredCall): boolean {
    if (this.#waiting.of(worker) >= this.#limits.waitingOfWorker) return false;
    this.#waiting.add(worker);
    return true;
  }

  hasWaited({ worker }: BrokeredCall): void {
    this.#waiting.remove(worker);
  }

  /** It was answered, and is not to be answered in the same way again. */
  forget(call: BrokeredCall): void {
    if (this.#answered.has(call.key)) this.#forget(call.key, call);
  }

  #ended(call: BrokeredCall): void {
    this.#running.remove(lineOf(call));
    this.#runningBytes.remove(call.worker, call.requestBytes);
  }

  #forgetOld(): void {
    const now = this.#clock.now();
    for (const [key, { call, until }] of this.#answered) {
      if (now < until) return;
      this.#forget(key, call);
    }
  }

  /** The last one is kept, however large. */
  #makeRoom(): void {
    const { answered, answeredBytes } = this.#limits;
    while (this.#answered.size > answered) this.#forgetOldestOf(this.#largest(countOf));
    while (this.#bytes > answeredBytes && this.#answered.size > 1) {
      this.#forgetOldestOf(this.#largest(bytesOf));
    }
  }

  /** Of several that have as much, the one that has had any for longest. */
  #largest(sizeOf: (holding: Holding) => number): Holding | undefined {
    let largest: Holding | undefined;
    for (const holding of this.#holdings.values()) {
      if (largest === undefined || sizeOf(holding) > sizeOf(largest)) largest = holding;
    }
    return largest;
  }

  #forgetOldestOf(holding: Holding | undefined): void {
    const [key] = holding?.keys ?? [];
    const oldest = key === undefined ? undefined : this.#answered.get(key);
    if (key === undefined || oldest === undefined) throw new Error('the answers are miscounted');
    this.#forget(key, oldest.call);
  }

  #hold({ key, worker, response }: BrokeredCall): void {
    const holding = this.#holdings.get(worker) ?? { bytes: 0, keys: new Set<string>() };
    const bytes = response?.length ?? 0;
    this.#bytes += bytes;
    holding.bytes += bytes;
    holding.keys.add(key);
    this.#holdings.set(worker, holding);
  }

  #forget(key: string, { worker, response }: BrokeredCall): void {
    this.#answered.delete(key);
    this.#calls.delete(key);
    const holding = this.#holdings.get(worker);
    const bytes = response?.length ?? 0;
    this.#bytes -= bytes;
    if (holding === undefined) return;
    holding.bytes -= bytes;
    holding.keys.delete(key);
    if (holding.keys.size === 0) this.#holdings.delete(worker);
  }
}

function countOf({ keys }: Holding): number {
  return keys.size;
}

function bytesOf({ bytes }: Holding): number {
  return bytes;
}

function lineOf({ worker, isKept }: BrokeredCall): string {
  return `${worker} ${isKept ? 'kept' : 'told'}`;
}
