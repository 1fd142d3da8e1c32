// What many runs come to together: the counts over all seeds, which faults were met how often, one hash
// over the traces of all of them, and what was found, each with the command that shows it again.

import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { faultKinds } from './fault-injection.ts';
import { type Happening, happenings } from './happenings.ts';
import type { SimulationReport } from './simulate.ts';

export class Tally {
  readonly #reports: SimulationReport[] = [];
  readonly #lost: string[] = [];
  readonly #minutes: number;

  constructor(minutes: number) {
    this.#minutes = minutes;
  }

  add(report: SimulationReport): void {
    this.#reports.push(report);
  }

  lost(seed: number, how: string): void {
    this.#lost.push(`seed ${seed}: its process ended with ${how}; ${this.#command(seed)}`);
  }

  get seeds(): number {
    return this.#reports.length;
  }

  get violations(): number {
    return this.sum(({ violations }) => violations.length) + this.#lost.length;
  }

  sum(of: (report: SimulationReport) => number): number {
    return this.#reports.reduce((total, report) => total + of(report), 0);
  }

  /** By kind, also those that were never met. */
  faults(): ReadonlyMap<string, number> {
    const met = (kind: (typeof faultKinds)[number]) =>
      this.sum(({ faultsByKind }) => faultsByKind.get(kind) ?? 0);
    return new Map(faultKinds.map((kind) => [kind, met(kind)]));
  }

  /** By name, also what has never happened. */
  happenings(): ReadonlyMap<string, number> {
    const times = (what: Happening) => this.sum((report) => report.happenings.get(what) ?? 0);
    return new Map(happenings.map((what) => [what, times(what)]));
  }

  /** How processes ended by themselves: by code or signal. */
  exits(): ReadonlyMap<string, number> {
    const exits = new Map<string, number>();
    for (const report of this.#reports) {
      for (const [how, times] of report.exits) exits.set(how, (exits.get(how) ?? 0) + times);
    }
    return new Map([...exits].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true })));
  }

  /** One hash over the traces of all seeds, in their order. */
  hash(): string {
    const hash = createHash('sha256');
    for (const report of this.#inOrder()) hash.update(`${report.seed} ${report.hash}\n`);
    return hash.digest('hex');
  }

  /** Seeds whose trace is not the same in the other tally. */
  differing(other: Tally): readonly number[] {
    const hashes = new Map(other.#reports.map(({ seed, hash }) => [seed, hash]));
    const isOther = ({ seed, hash }: SimulationReport) => hashes.get(seed) !== hash;
    return this.#inOrder()
      .filter(isOther)
      .map(({ seed }) => seed);
  }

  /** Of every seed, the first violation of each rule. */
  findings(): readonly string[] {
    const found = this.#inOrder().flatMap(({ seed, violations }) => {
      const byRule = new Map([...violations].reverse().map((found) => [found.rule, found]));
      return [...byRule.values()].map(
        ({ rule, at, detail }) =>
          `seed ${seed}, ${rule} at ${at} ms: ${detail}; ${this.#command(seed)}`,
      );
    });
    return [...this.#lost, ...found];
  }

  #command(seed: number): string {
    const build = process.env['HOLDFAST_BUILD'];
    const isOther = build !== undefined && resolve(build) !== resolve('dist');
    const before = isOther ? `HOLDFAST_BUILD=${build} ` : '';
    return `${before}npm run simulate -- --seed ${seed} --minutes ${this.#minutes} --trace`;
  }

  #inOrder(): readonly SimulationReport[] {
    return [...this.#reports].sort((a, b) => a.seed - b.seed);
  }
}

/** Names with counts, in columns. */
export function columns(
  counts: ReadonlyMap<string, number>,
  width: number,
  perRow: number,
): string {
  const cells = [...counts].map(([name, count]) => `${name} ${count}`.padEnd(width));
  const rows = Array.from({ length: Math.ceil(cells.length / perRow) }, (_, row) =>
    `  ${cells.slice(row * perRow, (row + 1) * perRow).join('')}`.trimEnd(),
  );
  return rows.join('\n');
}
