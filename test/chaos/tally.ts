// The counts of a run as the driver sees them: calls, answers by code, how long they took, and the
// faults that really happened. Faults that calls ordered are counted afterwards, from the ledgers.

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Phase, readLedger } from '../support/ledger.ts';
import type { AnswerSeen } from './history.ts';
import type { Order } from './order.ts';

export class Tally {
  calls = 0;
  readonly latenciesMs: number[] = [];
  readonly answers = new Map<string, number>();
  readonly faults = new Map<string, number>();
  readonly #ordered = new Map<string, { readonly kind: string; readonly shows: Phase }>();

  called(nonce: string, { fault }: Order): void {
    this.calls += 1;
    if (fault !== undefined) {
      this.#ordered.set(nonce, { kind: fault.fault.kind, shows: fault.shows });
    }
  }

  answered({ kind, fault }: AnswerSeen, latencyMs: number): void {
    const code = fault?.code;
    count(this.answers, code === undefined ? kind : `${code} ${fault?.['dispatched']}`);
    this.latenciesMs.push(latencyMs);
  }

  /** A fault that the driver or a client has brought about itself. */
  happened(kind: string): void {
    count(this.faults, kind);
  }

  /** Adds the faults that the fixture shows to have happened, once for each call that ordered one. */
  countOrdered(ledgers: readonly string[]): void {
    for (const ledger of ledgers) {
      for (const { nonce, phase } of readLedger(ledger)) {
        const ordered = nonce === null ? undefined : this.#ordered.get(nonce);
        if (nonce === null || ordered?.shows !== phase) continue;
        this.#ordered.delete(nonce);
        count(this.faults, ordered.kind);
      }
    }
  }

  /** Adds those of processes: each has left a file named after its kind when it happened. */
  countClaims(folder: string): void {
    if (!existsSync(folder)) return;
    for (const file of readdirSync(folder)) {
      const kind = /^process-\d+-(.+)$/.exec(file)?.[1];
      if (kind !== undefined) count(this.faults, kind);
    }
  }

  get faultCount(): number {
    return [...this.faults.values()].reduce((sum, one) => sum + one, 0);
  }
}

/** The value below which this share of them lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** The commonest first, in one line. */
export function byCount(counts: ReadonlyMap<string, number>): string {
  const sorted = [...counts].sort(([, a], [, b]) => b - a);
  return sorted.map(([name, number]) => `${name} ${number}`).join(', ');
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

export const ledgersIn = (folder: string): readonly string[] =>
  readdirSync(folder)
    .filter((name) => name.startsWith('ledger-'))
    .map((name) => join(folder, name));
