// Holdfast compared with itself in one run: two builds, this one and the one that `--base` names, or this one with and
// without its pid-holder. What counts is the processor time of a call, because it depends least on what else the machine
// does. A round measures base, new, new, base, once or more often; of the ratios of the rounds the median counts, with
// its interval: the order statistics between which the true median lies with a confidence of 95 %.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Goals } from '../goals.ts';
import { median } from '../ratios.ts';
import {
  holdfastInSession,
  holdfastOnHttp,
  holdfastOnStdio,
  type Variant,
  variantHere,
} from './holdfast.ts';
import { httpGenerator } from './http-generator.ts';
import { startOnHttp } from './http-subject.ts';
import { bigText, type Load, manyAtOnce } from './load.ts';
import { startOnStdio } from './stdio-subject.ts';
import { type Subject, sample } from './subject.ts';

export interface ComparedEffort {
  readonly rounds: number;
  readonly seconds: number;
}

export interface BuildsEffort extends ComparedEffort {
  /** The folder of the build that is compared with. */
  readonly base: string;
}

const goal = 1.05;

interface Way {
  readonly way: string;
  readonly start: (folder: string, variant: Variant) => Promise<Subject>;
  readonly loads: readonly Load[];
  /** Seconds of one measurement. */
  readonly slice: number;
  /** How often base, new, new, base are measured in a round. */
  readonly turns: number;
}

/** What else the machine does changes within a second: a round is many short turns, where the generator can. */
const shortSliceSeconds = 0.25;

/** Says whether no way of calling became dearer. */
export function benchBuilds({ base, ...effort }: BuildsEffort): Promise<boolean> {
  return isAsCheap('of the base', { build: resolve(base) }, effort);
}

/** Says whether no way of calling is dearer below a pid-holder, whose own processor time counts as well. */
export function benchHolder(effort: ComparedEffort): Promise<boolean> {
  return isAsCheap('of that without a pid-holder', { ...variantHere, hasHolder: false }, effort);
}

async function isAsCheap(
  title: string,
  base: Variant,
  { rounds, seconds }: ComparedEffort,
): Promise<boolean> {
  const goals = new Goals();
  const generator = httpGenerator();
  const ways: readonly Way[] = [
    {
      way: 'stdio',
      start: async (at, variant) => startOnStdio(holdfastOnStdio(at, variant)),
      loads: [manyAtOnce, bigText],
      slice: shortSliceSeconds,
      turns: Math.ceil(seconds / shortSliceSeconds),
    },
    {
      way: 'HTTP',
      start: (at, variant) => startOnHttp(holdfastOnHttp(at, 'none', variant), generator),
      loads: [manyAtOnce],
      slice: seconds,
      turns: 2,
    },
    {
      way: 'session',
      start: (at, variant) => startOnHttp(holdfastInSession(at, variant), generator),
      loads: [manyAtOnce],
      slice: seconds,
      turns: 2,
    },
  ];
  for (const one of ways) {
    const { way, loads } = one;
    const ratios = new Map<Load, number[]>(loads.map((load) => [load, []]));
    for (let round = 0; round < rounds; round += 1) await measureRound(one, base, ratios);
    for (const [load, found] of ratios) {
      goals.atMost(goal, `${way}, ${load.title}: CPU per call, ${title},`, ratioOf(found));
    }
  }
  return goals.allMet;
}

/**
 * Adds one ratio to those of each load. Each round has processes of its own: how the code of a process was
 * compiled, and how often it collects garbage, differs by a third between processes of the same build.
 */
async function measureRound(
  { start, slice, turns }: Way,
  base: Variant,
  ratios: ReadonlyMap<Load, number[]>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const subjects: Subject[] = [];
  try {
    const before = await start(join(folder, 'base'), base);
    subjects.push(before);
    const after = await start(join(folder, 'new'), variantHere);
    subjects.push(after);
    for (const [load, found] of ratios) {
      const cost = async (subject: Subject) => (await sample(subject, load, slice)).cpuUsPerCall;
      for (let warmUp = 0; warmUp < 4; warmUp += 1) {
        for (const subject of subjects) await cost(subject);
      }
      let [old, own] = [0, 0];
      for (let turn = 0; turn < turns; turn += 1) {
        old += await cost(before);
        own += await cost(after);
        own += await cost(after);
        old += await cost(before);
      }
      found.push(own / old);
    }
  } finally {
    for (const subject of subjects) await subject[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  }
}

/** The goal is held by the upper end of the interval. */
function ratioOf(found: readonly number[]) {
  const ratios = found.toSorted((one, other) => one - other);
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
