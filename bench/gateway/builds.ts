// Two builds of Holdfast as subjects of one run: this one and the one that `--base` names. What counts is
// the processor time of a call, because it depends least on what else the machine does; of the ratios of
// the rounds the median, with its interval: the order statistics between which the true median lies with
// a confidence of 95 %.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Goals } from '../goals.ts';
import { inTurns, median } from '../ratios.ts';
import { builtHere, holdfastInSession, holdfastOnHttp, holdfastOnStdio } from './holdfast.ts';
import { httpGenerator } from './http-generator.ts';
import { startOnHttp } from './http-subject.ts';
import { bigText, type Load, manyAtOnce } from './load.ts';
import { startOnStdio } from './stdio-subject.ts';
import { type Sample, type Subject, sample } from './subject.ts';

export interface BuildsEffort {
  readonly rounds: number;
  readonly seconds: number;
  /** The folder of the build that is compared with. */
  readonly base: string;
}

const goal = 1.05;

type Start = (folder: string, build: string) => Promise<Subject>;

/** Says whether no way of calling became dearer. */
export async function benchBuilds({ rounds, seconds, base }: BuildsEffort): Promise<boolean> {
  const goals = new Goals();
  const generator = httpGenerator();
  const ways: readonly (readonly [string, Start, readonly Load[]])[] = [
    ['stdio', async (at, build) => startOnStdio(holdfastOnStdio(at, build)), [manyAtOnce, bigText]],
    [
      'HTTP',
      (at, build) => startOnHttp(holdfastOnHttp(at, 'none', build), generator),
      [manyAtOnce],
    ],
    ['session', (at, build) => startOnHttp(holdfastInSession(at, build), generator), [manyAtOnce]],
  ];
  for (const [way, start, loads] of ways) {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
    const subjects: Subject[] = [];
    try {
      subjects.push(await start(join(folder, 'base'), resolve(base)));
      subjects.push(await start(join(folder, 'new'), builtHere));
      for (const load of loads) {
        for (const subject of subjects) await sample(subject, load, seconds);
        const samples = await inTurns(subjects, rounds, (one) => sample(one, load, seconds));
        const [before = [], after = []] = subjects.map((one) => samples.get(one) ?? []);
        goals.atMost(
          goal,
          `${way}, ${load.title}: CPU per call, of the base`,
          ratioOf(after, before),
        );
      }
    } finally {
      for (const subject of subjects) await subject[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    }
  }
  return goals.allMet;
}

/** The goal is held by the upper end of the interval. */
function ratioOf(after: readonly Sample[], before: readonly Sample[]) {
  const ratios = after
    .map(({ cpuUsPerCall }, round) => cpuUsPerCall / (before[round]?.cpuUsPerCall ?? Number.NaN))
    .sort((one, other) => one - other);
  const { low, high } = intervalOf(ratios);
  console.log(
    `  median ${median(ratios).toFixed(3)}x, 95 % interval ${low.toFixed(3)}-${high.toFixed(3)}`,
  );
  return { median: high, low, high };
}

/** Of sorted values; by the binomial distribution of how many lie below the median. */
function intervalOf(sorted: readonly number[]): { readonly low: number; readonly high: number } {
  const place = Math.max(0, Math.floor((sorted.length - 1.96 * Math.sqrt(sorted.length)) / 2) - 1);
  return { low: sorted[place] ?? Number.NaN, high: sorted.at(-1 - place) ?? Number.NaN };
}
