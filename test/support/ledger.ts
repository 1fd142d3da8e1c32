// Reads what the faulty server wrote about itself: the ledger of executions, the list of its starts
// and the list of the children it left. "Ran once" is judged from these files, which outlive every
// process, and never from our own counters. The writing side is fixtures/servers/faulty/ledger.mjs.

import { readFileSync } from 'node:fs';

export interface LedgerRecord {
  readonly at: number;
  readonly pid: number;
  /** Which process: the nonce of its start. Pids may repeat, each namespace has its own. */
  readonly run: string;
  readonly tool: string;
  readonly nonce: string | null;
  readonly phase: Phase;
}

/** `received`: the request was read; `begin` and `done` stand around its effect. */
export type Phase = 'received' | 'begin' | 'done';

export interface StartRecord {
  readonly at: number;
  readonly pid: number;
  /** The generation, as `whoami` reports it. */
  readonly nonce: string;
}

export interface ChildRecord {
  readonly at: number;
  readonly pid: number;
  readonly parent: number;
  /** The fault that made it. */
  readonly kind: string;
}

/** All records in the order in which they were written; none if nothing was written yet. */
export function readLedger(file: string): readonly LedgerRecord[] {
  return readRecords<LedgerRecord>(file);
}

/** How far the call with this nonce came, in order and over all processes. */
export function phases(file: string, nonce: string): readonly Phase[] {
  const records = readLedger(file).filter((record) => record.nonce === nonce);
  return records.map((record) => record.phase);
}

/** How often the call with this nonce was executed: how often its effect began. */
export function executions(file: string, nonce: string): number {
  return phases(file, nonce).filter((phase) => phase === 'begin').length;
}

/** How often the call with this nonce reached a server, whether or not it was executed. */
export function received(file: string, nonce: string): number {
  return phases(file, nonce).filter((phase) => phase === 'received').length;
}

/** One record for each start of the server's process. */
export function readStarts(file: string): readonly StartRecord[] {
  return readRecords<StartRecord>(file);
}

/** One record for each process that a fault started and left running. */
export function readChildren(file: string): readonly ChildRecord[] {
  return readRecords<ChildRecord>(file);
}

function readRecords<T>(file: string): readonly T[] {
  // What follows the last line end is being written at this moment.
  const lines = readText(file).split('\n').slice(0, -1);
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as T);
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
