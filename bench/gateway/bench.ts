// The gateway against two floors and two peers, all in front of the same server: every load runs in
// rounds, and every round runs all subjects. Memory is read after the 1 KB loads, which therefore
// come first.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Goals } from '../goals.ts';
import { inTurns, median, type Ratio, ratioOf } from '../ratios.ts';
import { bareOnHttp, bareOnStdio, naiveOnHttp, naiveOnStdio, nothingOnStdio } from './floors.ts';
import { holdfastInSession, holdfastOnHttp, holdfastOnStdio } from './holdfast.ts';
import { httpGenerator } from './http-generator.ts';
import { type HttpCommand, startOnHttp } from './http-subject.ts';
import { bigRows, bigText, type Load, manyAtOnce, oneAtATime } from './load.ts';
import { peersOnHttp } from './peers.ts';
import { startOnStdio } from './stdio-subject.ts';
import { type Sample, type Subject, sample } from './subject.ts';
import { table } from './table.ts';

export interface Effort {
  readonly rounds: number;
  /** Of each subject under each load, each round. */
  readonly seconds: number;
}

type Figures = ReadonlyMap<Load, ReadonlyMap<string, readonly Sample[]>>;

const loads = [oneAtATime, manyAtOnce, bigText, bigRows];

/** Says whether every goal was met. */
export async function benchGateway(effort: Effort): Promise<boolean> {
  const goals = new Goals();
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  try {
    judge(await onStdio(folder, effort), goals);
    const figures = await onHttp(folder, effort);
    judge(figures, goals);
    judgeSessions(figures, goals);
    judgeAgainstPeers(figures, goals);
  } finally {
    rmSync(folder, { recursive: true });
  }
  return goals.allMet;
}

function onStdio(folder: string, effort: Effort): Promise<Figures> {
  const commands = [bareOnStdio, naiveOnStdio, holdfastOnStdio(folder), nothingOnStdio];
  const starts = commands.map((command) => async () => startOnStdio(command));
  return figuresOf('stdio', starts, effort);
}

async function onHttp(folder: string, effort: Effort): Promise<Figures> {
  const generator = httpGenerator();
  const commands: readonly HttpCommand[] = [
    ...[bareOnHttp, naiveOnHttp, holdfastOnHttp(folder, 'none'), holdfastOnHttp(folder, 'token')],
    holdfastInSession(folder),
    ...(await peersOnHttp()),
  ];
  const starts = commands.map((command) => () => startOnHttp(command, generator));
  return figuresOf(`HTTP (load from ${generator.name})`, starts, effort);
}

async function figuresOf(
  title: string,
  starts: readonly (() => Promise<Subject>)[],
  { rounds, seconds }: Effort,
): Promise<Figures> {
  const figures = new Map<Load, ReadonlyMap<string, readonly Sample[]>>();
  const subjects: Subject[] = [];
  try {
    for (const start of starts) subjects.push(await start());
    for (const load of loads) {
      for (const subject of subjects) await sample(subject, load, seconds);
      const samples = await inTurns(subjects, rounds, (subject) => sample(subject, load, seconds));
      figures.set(load, new Map([...samples].map(([{ name }, own]) => [name, own])));
      console.log(`\n${title}: ${load.title}, ${rounds} rounds of ${seconds} s\n`);
      console.log(table(load, samples));
    }
  } finally {
    for (const subject of subjects) await subject[Symbol.asyncDispose]();
  }
  console.log('');
  return figures;
}

function judge(figures: Figures, goals: Goals): void {
  const against = (base: string) => (load: Load, pick: (sample: Sample) => number) =>
    compare(figures, load, 'holdfast', base, pick);
  const naive = against('naive');
  goals.atMost(1.1, 'naive: p50 at 1 in flight', naive(oneAtATime, latency));
  goals.atLeast(0.9, 'naive: throughput at 32 in flight', naive(manyAtOnce, throughput));
  goals.atMost(0.8, 'naive: p50 of 5 MB of text', naive(bigText, latency));
  goals.atMost(0.8, 'naive: p50 of 5 MB of rows', naive(bigRows, latency));
  goals.atMost(1.4, 'naive: memory after the 1 KB runs', naive(manyAtOnce, memory));
  const bare = against('bare');
  goals.atMost(1.25, 'bare: p50 at 1 in flight', bare(oneAtATime, latency));
  goals.atLeast(0.6, 'bare: throughput at 32 in flight', bare(manyAtOnce, throughput));
  goals.atMost(2, 'bare: CPU per call at 32 in flight', bare(manyAtOnce, cpu));
  goals.atMost(1.3, 'bare: p50 of 5 MB of text', bare(bigText, latency));
  goals.atMost(1.3, 'bare: p50 of 5 MB of rows', bare(bigRows, latency));
}

/** The cost of the legacy era compared with the modern one. */
function judgeSessions(figures: Figures, goals: Goals): void {
  const ratio = compare(figures, manyAtOnce, 'holdfast, session', 'holdfast', throughput);
  goals.atLeast(0.95, 'session, of the modern era: throughput at 32 in flight', ratio);
}

function judgeAgainstPeers(figures: Figures, goals: Goals): void {
  const ours = ['bare', 'naive', 'holdfast', 'holdfast, token', 'holdfast, session'];
  const figuresOfPeers = [...(figures.get(manyAtOnce) ?? [])].filter(
    ([name]) => !ours.includes(name),
  );
  const bySpeed = figuresOfPeers.toSorted(([, one], [, other]) => speedOf(other) - speedOf(one));
  const best = bySpeed[0]?.[0] ?? '';
  const ratio = compare(figures, manyAtOnce, 'holdfast', best, throughput);
  goals.atLeast(4, `${best}, the better peer: throughput at 32 in flight`, ratio);
}

function speedOf(samples: readonly Sample[]): number {
  return median(samples.map(throughput));
}

function compare(
  figures: Figures,
  load: Load,
  own: string,
  base: string,
  pick: (sample: Sample) => number,
): Ratio {
  const of = (name: string) => figures.get(load)?.get(name)?.map(pick) ?? [];
  return ratioOf(of(own), of(base));
}

const latency = (sample: Sample) => sample.p50Us;
const throughput = (sample: Sample) => sample.perSecond;
const cpu = (sample: Sample) => sample.cpuUsPerCall;
const memory = (sample: Sample) => sample.residentMb;
