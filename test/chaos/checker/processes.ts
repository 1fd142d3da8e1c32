// The processes of the servers on pipes, as far as the evidence tells them apart: what each received
// and when that was sent, which generation the records call it, and which safe calls it lost to its
// successor. A generation that names two processes, or a process with two generations, is wrong by
// itself and is not used for anything else.

import type { Call, FaultRecord } from './call.ts';
import type { Trace } from './ledger-book.ts';
import type { Verdict } from './verdict.ts';

interface Process {
  readonly at: string;
  /** When a call that was sent to it had its answer, at the earliest: by then it was in use. */
  answeredAt: number;
  /** The last call that it received, by the time of sending: by then it was still reading. */
  last: { readonly call: Call; readonly sentAt: number };
}

export class Processes {
  readonly #verdict: Verdict;
  readonly #byRun = new Map<string, Process>();
  readonly #byServer = new Map<string, Process[]>();
  readonly #runsOf = new Map<string, Map<string, Call>>();
  readonly #generationsOf = new Map<string, Set<string>>();
  readonly #replayed = new Map<string, Set<string>>();
  readonly #nameless = new Set<string>();

  constructor(verdict: Verdict) {
    this.#verdict = verdict;
  }

  received(call: Call, { receipts }: Trace, sentAt: number): void {
    for (const [index, { run }] of receipts.entries()) {
      if (run === undefined) {
        this.#nameless.add(call.server);
        continue;
      }
      this.#seen(run, call, sentAt);
      const isReplayed = receipts.slice(index + 1).some((later) => later.run !== run);
      if (!isReplayed) continue;
      this.#replayed.set(run, (this.#replayed.get(run) ?? new Set()).add(call.nonce));
    }
  }

  /** The record of a call that was sent once says what the process that received it is called. */
  named(call: Call, { generation, dispatched }: FaultRecord, { receipts }: Trace): void {
    const [receipt] = receipts;
    if (receipt?.run === undefined || receipts.length > 1) return;
    if (generation === undefined || dispatched === 'no') return;
    const name = nameOf(call, generation);
    const runs = this.#runsOf.get(name) ?? new Map<string, Call>();
    this.#runsOf.set(name, runs.set(receipt.run, call));
    const names = this.#generationsOf.get(receipt.run) ?? new Set();
    this.#generationsOf.set(receipt.run, names.add(name));
  }

  judge(): void {
    for (const server of this.#nameless) {
      const finding = `the ledger of ${server} does not tell its processes apart: neither "run" nor starts-${server}.jsonl with different pids`;
      this.#verdict.violates('evidence', finding);
    }
    for (const [name, runs] of this.#runsOf) {
      if (runs.size > 1) this.#verdict.violates('generation', `${name} is ${spelled(runs)}`);
    }
    for (const [run, names] of this.#generationsOf) {
      if (names.size > 1) {
        this.#verdict.violates('generation', `process ${run} is ${[...names].join(' and ')}`);
      }
    }
  }

  /** A call that was received after this one was answered, by the one process of its whole life. */
  receivedLater(one: { call: Call; sentAt: number; answeredAt: number }): Call | undefined {
    const candidates = this.#byServer.get(placeOf(one.call)) ?? [];
    return candidates.find(
      ({ answeredAt, last }) => answeredAt < one.sentAt && last.sentAt > one.answeredAt,
    )?.last.call;
  }

  /** A call that the process of this generation received, if it was sent after `answeredAt`. */
  lastOf(generation: string, answeredAt: number): Call | undefined {
    const run = this.#runOf(generation);
    const last = run === undefined ? undefined : this.#byRun.get(run)?.last;
    return last !== undefined && last.sentAt > answeredAt ? last.call : undefined;
  }

  /** How many calls this generation had received and a later one received again. */
  replayedFrom(generation: string): number {
    const run = this.#runOf(generation);
    return run === undefined ? 0 : (this.#replayed.get(run)?.size ?? 0);
  }

  #runOf(generation: string): string | undefined {
    const runs = [...(this.#runsOf.get(generation)?.keys() ?? [])];
    const [run] = runs;
    const isCertain = runs.length === 1 && this.#generationsOf.get(run ?? '')?.size === 1;
    return isCertain ? run : undefined;
  }

  #seen(run: string, call: Call, sentAt: number): void {
    const [answer] = call.answers;
    const wasSent = answer !== undefined && answer.fault?.dispatched !== 'no';
    const answeredAt = wasSent ? answer.at : Number.POSITIVE_INFINITY;
    const known = this.#byRun.get(run);
    if (known === undefined) {
      const process = { at: placeOf(call), answeredAt, last: { call, sentAt } };
      this.#byRun.set(run, process);
      this.#byServer.set(process.at, [...(this.#byServer.get(process.at) ?? []), process]);
      return;
    }
    known.answeredAt = Math.min(known.answeredAt, answeredAt);
    if (sentAt > known.last.sentAt) known.last = { call, sentAt };
  }
}

/** A process by the words of the records: generations are counted per gateway and server. */
export function nameOf({ gateway, server }: Call, generation: number): string {
  return `${server} generation ${generation} of ${gateway}`;
}

function placeOf({ gateway, server }: Call): string {
  return `${server} of ${gateway}`;
}

function spelled(runs: ReadonlyMap<string, Call>): string {
  return [...runs].map(([run, { nonce, place }]) => `${run} (${nonce}, ${place})`).join(' and ');
}
