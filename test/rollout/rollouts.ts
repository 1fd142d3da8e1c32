// Rollouts in turn under load, and their figures. `npm run rollouts` judges time and memory too; the short form in the
// tests judges what clients saw and what servers did.

import { atMost, exactly, type Figure, fact, type Report } from '../proof/report.ts';
import { statusOf } from '../support/connect-window.ts';
import { readStarts } from '../support/ledger.ts';
import { until } from '../support/until.ts';
import { judge } from './judge.ts';
import { isAlive, processesNaming, processesOf } from './processes.ts';
import { formersGone, type Rolled, roll } from './rolling.ts';
import { openWorld, type World } from './world.ts';

export interface RolloutsSize {
  readonly rollouts: number;
  /** Calls of all clients in a second. */
  readonly rate: number;
  readonly dice: () => number;
  readonly progress: (text: string) => void;
}

const longestPauseMs = 1_000;
const growthMiB = 20;
/** Fewer say nothing about growth. */
const fewestForGrowth = 12;

export async function proveRollouts(size: RolloutsSize): Promise<Report> {
  const world = await openWorld(size);
  let found: Omit<Report, 'title'>;
  try {
    found = await proved(world, size);
  } finally {
    await world[Symbol.asyncDispose]();
  }
  const left = await leftOf(world);
  const figures = [...found.figures, exactly('processes left at the end', left.length, 0)];
  return { title: 'Rollouts', figures, findings: [...found.findings, ...left] };
}

async function proved(world: World, size: RolloutsSize): Promise<Omit<Report, 'title'>> {
  await world.warm();
  const before = await serversOf(world);
  world.begin();
  const rolled = await roll(world, size);
  await world.rest();
  const formers = await formersGone(world);
  const changed = await changesOf(before, world);
  const verdict = judge(world.history, world.files);
  const { calls, answered, failed, foreign, unanswered, lost, twice, hellosAgain, seen } = verdict;
  const [pause] = world.history.pauses;
  const figures: readonly Figure[] = [
    exactly('rollouts of the instance', rolled.done, size.rollouts),
    fact('calls', calls),
    fact('answered', answered),
    exactly('calls without an answer', unanswered.length, 0),
    exactly('failed calls', failed.length, 0),
    exactly('answers for another call', foreign.length, 0),
    exactly('answered and not executed', lost.length, 0),
    exactly('effects twice', twice.length, 0),
    exactly('clients that said hello again', hellosAgain.length, 0),
    exactly('what clients saw besides', seen.length, 0),
    exactly('servers that ended or were started', changed.length, 0),
    exactly('processes that still serve after the last', formers.length, 0),
    fact('most processes that served at once', rolled.mostFormers + 1),
    fact('median pause as the instance tells it, ms', Math.round(median(rolled.pausesMs))),
    atMost('longest pause of a client, ms', Math.round(pause?.ms ?? 0), longestPauseMs),
    ...memoryFigures(rolled),
  ];
  const findings = [
    ...rolled.failures,
    ...[unanswered, failed, foreign, lost, twice, hellosAgain, seen].flatMap(firstOf),
    ...changed,
    ...formers,
  ];
  return { figures, findings };
}

function firstOf(all: readonly string[]): readonly string[] {
  return all.slice(0, 20);
}

function memoryFigures({ memory }: Rolled): readonly Figure[] {
  const names = { holder: 'pid-holder', serving: 'serving process' } as const;
  const third = Math.floor(memory.length / 3);
  return (['holder', 'serving'] as const).flatMap((who) => {
    const all = memory.map((one) => one[who]);
    const growth = median(all.slice(-third)) - median(all.slice(0, third));
    const name = `growth of the ${names[who]}, MiB`;
    const isLong = memory.length >= fewestForGrowth;
    return [
      fact(`memory of the ${names[who]}, MiB`, Math.round(median(all))),
      ...(isLong ? [atMost(name, Math.round(growth), growthMiB)] : []),
    ];
  });
}

function median(all: readonly number[]): number {
  return [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;
}

interface Servers {
  readonly pids: readonly number[];
  /** How many have begun. */
  readonly starts: number;
  readonly generations: string;
}

async function serversOf({ holders, files, home }: World): Promise<Servers> {
  const all = await Promise.all([...holders.values()].map(processesOf));
  const { servers } = await statusOf(home);
  const starts = [...files.starts.values()].map((file) => readStarts(file).length);
  return {
    pids: all.flatMap(({ others }) => others),
    starts: starts.reduce((sum, one) => sum + one, 0),
    generations: JSON.stringify(
      servers.map(({ name, children }: Shown) => [
        name,
        children.map(({ pid, generation: own }) => [pid, own]).sort(),
      ]),
    ),
  };
}

interface Shown {
  readonly name: string;
  readonly children: readonly { readonly pid: number; readonly generation: number }[];
}

async function changesOf(before: Servers, world: World): Promise<readonly string[]> {
  const after = await serversOf(world);
  const ended = before.pids.filter((pid) => !isAlive(pid)).map((pid) => `process ${pid} has ended`);
  const more = after.starts - before.starts;
  const isSame = after.generations === before.generations;
  return [
    ...ended,
    ...(more === 0 ? [] : [`${more} processes of servers were started`]),
    ...(isSame ? [] : [`servers were ${before.generations} and are ${after.generations}`]),
  ];
}

/** They have some time to end. */
async function leftOf({ files, homes }: World): Promise<readonly string[]> {
  const names = [files.ledger, ...homes.map(({ configFile }) => configFile)];
  const left = () => names.flatMap((name) => processesNaming(name));
  await until(() => left().length === 0, 'all have ended', 5_000).catch(() => {});
  return left();
}
