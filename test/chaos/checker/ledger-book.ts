// What the servers did, by the nonce of the call: how often it was received, begun and done, by which
// process and of which server. The servers wrote it themselves, each line before the deed that it
// announces, so it is the truth that every answer is held against. A process is named by its `run`;
// by its pid only where the list of starts shows that no two had the same (in a pid namespace all have).

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type JsonObject, jsonLines } from './json-lines.ts';
import type { Verdict } from './verdict.ts';

/** One call as its servers saw it. */
export interface Trace {
  readonly receipts: Receipt[];
  begun: number;
  done: number;
  /** Where it stands in the ledger, the first few places. */
  readonly lines: string[];
  isAsked: boolean;
}

export interface Receipt {
  readonly server: string | undefined;
  readonly tool: unknown;
  /** The process, where it can be told from its other generations. */
  readonly run: string | undefined;
  /** By the clock of the histories. */
  readonly at: number;
}

export const NOTHING: Trace = { receipts: [], begun: 0, done: 0, lines: [], isAsked: true };

const LINES_KEPT = 8;

export class LedgerBook {
  readonly traces = new Map<string, Trace>();
  readonly #verdict: Verdict;
  readonly #wallOffsetMs: number;
  /** By the run of the process. */
  readonly #startedAt = new Map<string, number>();

  constructor(directory: string, verdict: Verdict, wallOffsetMs = 0) {
    this.#verdict = verdict;
    this.#wallOffsetMs = wallOffsetMs;
    const files = readdirSync(directory).filter((name) => /^ledger(-.+)?\.jsonl$/.test(name));
    if (files.length === 0) verdict.violates('evidence', 'there is no ledger');
    for (const name of files.sort()) this.#read(directory, name);
    this.#checkItself();
  }

  of(nonce: string): Trace | undefined {
    return this.traces.get(nonce);
  }

  /** When this process began; for one that is not in the list of starts, its first receipt. */
  startedAt(run: string): number {
    return this.#startedAt.get(run) ?? Number.POSITIVE_INFINITY;
  }

  #read(directory: string, name: string): void {
    const ofFile = /^ledger-(.+)\.jsonl$/.exec(name)?.[1];
    const starts = readStarts(join(directory, `starts-${ofFile}.jsonl`));
    const pids = pidsOfOne(starts);
    for (const { run, at } of starts ?? []) {
      if (typeof run === 'string') this.#startedAt.set(run, Number(at) - this.#wallOffsetMs);
    }
    for (const line of jsonLines(join(directory, name))) {
      const place = `${name}:${line.number}`;
      if (line.kind === 'torn') this.#gap(`${place} is torn: ${line.text}`);
      else this.#add(line.value, place, ofFile, pids);
    }
  }

  #add(line: JsonObject, place: string, ofFile: string | undefined, pids: Set<unknown>): void {
    const { nonce, phase, tool, pid, run } = line;
    this.#verdict.adds(`ledger: ${String(phase)}`);
    if (typeof nonce !== 'string') return this.#gap(`${place} has no nonce: which call was it?`);
    const trace = this.#open(nonce);
    if (trace.lines.length < LINES_KEPT) trace.lines.push(`${place} ${phase} (pid ${pid})`);
    if (phase === 'begin') trace.begun += 1;
    else if (phase === 'done') trace.done += 1;
    else if (phase !== 'received') this.#gap(`${place}: no phase is called ${phase}`);
    else {
      const server = typeof line['server'] === 'string' ? line['server'] : ofFile;
      const byPid = pids.has(pid) ? `${server} pid ${pid}` : undefined;
      const at = Number(line['at']) - this.#wallOffsetMs;
      const process = typeof run === 'string' ? run : byPid;
      if (process !== undefined && !this.#startedAt.has(process)) this.#startedAt.set(process, at);
      trace.receipts.push({ server, tool, run: process, at });
    }
  }

  #open(nonce: string): Trace {
    const known = this.traces.get(nonce);
    if (known !== undefined) return known;
    const trace: Trace = { receipts: [], begun: 0, done: 0, lines: [], isAsked: false };
    this.traces.set(nonce, trace);
    return trace;
  }

  /** A deed whose announcement is missing means that lines were lost, and with them the proof. */
  #checkItself(): void {
    for (const [nonce, { receipts, begun, done, lines }] of this.traces) {
      if (begun > receipts.length || done > begun) {
        this.#gap(`the ledger lost lines of ${nonce}: ${lines.join(', ')}`);
      }
    }
  }

  #gap(finding: string): void {
    this.#verdict.violates('evidence', finding);
  }
}

interface Start {
  readonly at: unknown;
  readonly pid: unknown;
  readonly run: unknown;
}

/** Undefined without the list, and with a torn one: whose the torn line was is not known. */
function readStarts(file: string): readonly Start[] | undefined {
  if (!existsSync(file)) return undefined;
  const starts: Start[] = [];
  for (const line of jsonLines(file)) {
    if (line.kind === 'torn') return undefined;
    const { at, pid, nonce: run } = line.value;
    starts.push({ at, pid, run });
  }
  return starts;
}

/** The pids that name exactly one start; none without the list of starts. */
function pidsOfOne(starts: readonly Start[] | undefined): Set<unknown> {
  const once = new Set<unknown>();
  const twice = new Set<unknown>();
  for (const { pid } of starts ?? []) {
    if (once.has(pid)) twice.add(pid);
    once.add(pid);
  }
  for (const pid of twice) once.delete(pid);
  return once;
}
