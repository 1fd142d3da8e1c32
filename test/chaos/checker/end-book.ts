// When an instance was being ended, as the driver wrote it down: from the moment at which it began to end one until that
// was seen to be gone, or another one to serve. A process of it that ends because another has taken over is no end.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { jsonLines } from './json-lines.ts';
import type { Verdict } from './verdict.ts';

interface End {
  readonly from: number;
  to: number;
}

export interface Span {
  readonly from: number;
  readonly to: number;
}

export class EndBook {
  readonly #ends: End[] = [];
  readonly #file: string;
  readonly #verdict: Verdict;

  constructor(directory: string, file: string, verdict: Verdict) {
    this.#file = file;
    this.#verdict = verdict;
    if (existsSync(join(directory, file))) this.#read(join(directory, file));
    else verdict.violates('evidence', `there are instances, but no ${file}`);
  }

  get count(): number {
    return this.#ends.length;
  }

  /** Was one being ended at some moment of this time? */
  meets({ from, to }: Span): boolean {
    return this.#ends.some((end) => end.from < to && end.to > from);
  }

  /** When the last end before this time was over; undefined: there was none. */
  lastBefore(at: number): number | undefined {
    const before = this.#ends.filter(({ to }) => to <= at).map(({ to }) => to);
    return before.length === 0 ? undefined : Math.max(...before);
  }

  /** How many were over before this time; undefined: it meets one. */
  epochOf(span: Span): number | undefined {
    if (this.meets(span)) return undefined;
    return this.#ends.filter(({ to }) => to <= span.from).length;
  }

  #read(file: string): void {
    const open = new Map<unknown, End>();
    for (const line of jsonLines(file)) {
      const { t, event, which } = line.kind === 'torn' ? {} : line.value;
      const known = open.get(which);
      if (event === 'ending' && known === undefined) {
        const end = { from: Number(t), to: Number.POSITIVE_INFINITY };
        open.set(which, end);
        this.#ends.push(end);
      } else if (event === 'ended' && known !== undefined) {
        known.to = Number(t);
        open.delete(which);
      } else {
        const place = `${this.#file}:${line.number}`;
        this.#verdict.violates('evidence', `${place}: ${event} is out of turn`);
      }
    }
  }
}
