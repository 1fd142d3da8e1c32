// The calls that workers have made, by worker and call id: those that run, and those that were answered, for as
// long as somebody may ask for them again. A call id is admitted once. Each worker may have a limited number
// running; answers are kept for some minutes, within a limit of bytes. Beyond it the worker that has most of them
// loses its oldest, so that one that does not fetch its answers takes no room of the others.

import type { Clock } from '../../kernel/clock.ts';
import type { Caught } from '../../kernel/contain.ts';
import type { BrokeredCall } from './brokered-call.ts';

export interface CallBookLimits {
  /** Of those that are kept, and as many that are told: subscriptions take no place of calls. */
  readonly runningOfWorker: number;
  readonly answered: number;
  readonly answeredBytes: number;
  readonly answeredMs: number;
}

export const usualCallBookLimits: CallBookLimits = {
  runningOfWorker: 64,
  answered: 4_096,
  answeredBytes: 64 * 1024 * 1024,
  answeredMs: 120_000,
};

interface Answered {
  readonly call: BrokeredCall;
  readonly until: number;
}

export class CallBook {
  readonly #clock: Clock;
  readonly #limits: CallBookLimits;
  /** By key; at most `runningOfWorker` for each worker, and those below. */
  readonly #calls = new Map<string, BrokeredCall>();
  /** Oldest first, by key; at most `answered`. */
  readonly #answered = new Map<string, Answered>();
  /** Bytes of answers, by worker; only those that have any. */
  readonly #bytesOf = new Map<string, number>();
  /** How many run, by worker and way; only those that have any. */
  readonly #running = new Map<string, number>();
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
    return (this.#running.get(lineOf(call)) ?? 0) < this.#limits.runningOfWorker;
  }

  /** How many workers have any that run. */
  get workers(): number {
    return new Set(this.running.map(({ worker }) => worker)).size;
  }

  get running(): readonly BrokeredCall[] {
    return [...this.#calls.values()].filter(({ isAnswered }) => !isAnswered);
  }

  admit(call: BrokeredCall): void {
    this.#calls.set(call.key, call);
    this.#running.set(lineOf(call), (this.#running.get(lineOf(call)) ?? 0) + 1);
  }

  answered(call: BrokeredCall): void {
    this.#ended(call);
    const until = this.#clock.now() + this.#limits.answeredMs;
    this.#answered.set(call.key, { call, until });
    this.#weigh(call, 1);
    this.#forgetOld();
    this.#makeRoom();
  }

  withdrawn(call: BrokeredCall): void {
    this.#ended(call);
    this.#calls.delete(call.key);
  }

  #ended(call: BrokeredCall): void {
    const line = lineOf(call);
    const left = (this.#running.get(line) ?? 1) - 1;
    if (left > 0) this.#running.set(line, left);
    else this.#running.delete(line);
  }

  #forgetOld(): void {
    const now = this.#clock.now();
    for (const [key, { call, until }] of this.#answered) {
      if (now < until && this.#answered.size <= this.#limits.answered) return;
      this.#forget(key, call);
    }
  }

  /** The last one is kept, however large. */
  #makeRoom(): void {
    while (this.#bytes > this.#limits.answeredBytes && this.#answered.size > 1) {
      const [worker] = [...this.#bytesOf].reduce((one, other) => (other[1] > one[1] ? other : one));
      const oldest = [...this.#answered].find(([, { call }]) => call.worker === worker);
      if (oldest === undefined) return;
      this.#forget(oldest[0], oldest[1].call);
    }
  }

  #forget(key: string, call: BrokeredCall): void {
    this.#answered.delete(key);
    this.#calls.delete(key);
    this.#weigh(call, -1);
  }

  #weigh({ worker, response }: BrokeredCall, sign: 1 | -1): void {
    const bytes = sign * (response?.length ?? 0);
    this.#bytes += bytes;
    const left = (this.#bytesOf.get(worker) ?? 0) + bytes;
    if (left > 0) this.#bytesOf.set(worker, left);
    else this.#bytesOf.delete(worker);
  }
}

function lineOf({ worker, isKept }: BrokeredCall): string {
  return `${worker} ${isKept ? 'kept' : 'told'}`;
}
