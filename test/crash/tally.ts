// What a crash test has seen: how gateways came to their end, and everything that was wrong, each with
// what is needed to see it again.

import { exactly, type Figure, fact } from '../proof/report.ts';
import type { Struck } from './injected-faults/plan.ts';
import type { Violation, Wrong } from './subjects/subject.ts';
import { wrongs } from './subjects/subject.ts';

export class Tally {
  readonly findings: string[] = [];
  readonly #counts = new Map<Wrong, number>();
  /** By kind of file, then by operation. */
  readonly #moments = new Map<string, Map<string, number>>();
  /** What else was tried, by what it was: one for each in the source. */
  readonly #tried = new Map<string, number>();
  kills = 0;
  killsInside = 0;
  powerCuts = 0;
  starts = 0;
  tornOffsets = 0;
  damages = 0;
  diskFaults = 0;
  callsUnderFaults = 0;

  found(violations: readonly Violation[], where: string): void {
    for (const { wrong, text } of violations) {
      this.#counts.set(wrong, (this.#counts.get(wrong) ?? 0) + 1);
      this.findings.push(`${text} (${where})`);
    }
  }

  /** A gateway was killed: by an injected fault in the middle of something, or from outside. */
  killed(subject: string, struck: Struck | undefined): void {
    this.kills += 1;
    if (struck === undefined) return;
    this.killsInside += 1;
    if (struck.isPowerCut) this.powerCuts += 1;
    const operations = this.#moments.get(subject) ?? new Map<string, number>();
    operations.set(struck.op, (operations.get(struck.op) ?? 0) + 1);
    this.#moments.set(subject, operations);
  }

  /** One more of these was tried, or so many. */
  tried(what: string, times = 1): void {
    this.#tried.set(what, this.triedOf(what) + times);
  }

  triedOf(what: string): number {
    return this.#tried.get(what) ?? 0;
  }

  count(wrong: Wrong): number {
    return this.#counts.get(wrong) ?? 0;
  }

  get figures(): readonly Figure[] {
    const rows = [...this.#moments].sort().map(([subject, operations]) => {
      const words = [...operations].sort().map(([op, count]) => `${op} ${count}`);
      return fact(`  in ${subject}`, words.join(', '));
    });
    const wrong = (Object.keys(wrongs) as Wrong[]).map((key) => {
      return exactly(wrongs[key], this.count(key), 0);
    });
    return [
      fact('starts', this.starts),
      fact('kills inside an operation on the disk', share(this.killsInside, this.kills)),
      fact('of these with a power cut', this.powerCuts),
      ...rows,
      fact('torn offsets tried', this.tornOffsets),
      fact('damaged files tried', this.damages),
      fact('disk faults tried', this.diskFaults),
      fact('calls answered meanwhile', this.callsUnderFaults),
      ...[...this.#tried].map(([what, times]) => fact(what, times)),
      ...wrong,
    ];
  }
}

function share(part: number, whole: number): string {
  return `${part} of ${whole} (${Math.round((100 * part) / Math.max(1, whole))} %)`;
}
