// Rollouts in turn under load, and their figures. `npm run rollouts` judges time and memory too; the short form in the
// tests judges what clients saw and what servers did.

import { atLeast, atMost, exactly, type Figure, fact, type Report } from '../proof/report.ts';
import { statusOf } from '../support/connect-window.ts';
import { readStarts } from '../support/ledger.ts';
import { until } from '../support/until.ts';
import { BusyMachine } from './busy-machine.ts';
import type { History, Pause } from './history.ts';
import { judge } from './judge.ts';
import { median, memoryFigures } from './memory.ts';
import { isAlive, processesNaming, processesOf } from './processes.ts';
import { formersGone, roll } from './rolling.ts';
import { openWorld, type World } from './world.ts';

export interface RolloutsSize {
  readonly rollouts: number;
  /** Calls of all clients in a second. */
  readonly rate: number;
  readonly dice: () => number;
  readonly progress: (text: string) => void;
}

const longestPauseMs = 1_000;
/** Of the rate that was asked for. */
const fullRate = 0.95;

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
  using machine = new BusyMachine();
  const began = performance.now();
  world.begin();
  const rolled = await roll(world, size);
  const seconds = (performance.now() - began) / 1_000;
  await world.rest();
  const formers = await formersGone(world);
  const changed = await changesOf(before, world);
  const verdict = judge(world.history, world.files);
  const { calls, answered, failed, foreign, unanswered, lost, twice, hellosAgain, seen } = verdict;
  const figures: readonly Figure[] = [
    exactly('rollouts of the instance', rolled.done, size.rollouts),
    fact('calls', calls),
    atLeast('calls a second', Math.round(calls / seconds), Math.floor(size.rate * fullRate)),
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
    ...pauseFigures(world.history, machine),
    ...memoryFigures(rolled.memory, world.instance.log.sizes),
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

function pauseFigures({ pauses, waits }: History, machine: BusyMachine): readonly Figure[] {
  const ms = (pause: Pause | undefined) =>
    Math.round(pause === undefined ? 0 : pause.to - pause.from);
  const own = pauses.filter(({ from, to }) => !machine.wasBusyWithOthers(from, to));
  const at = (share: number) => Math.round(waits[Math.floor(waits.length * share)] ?? 0);
  return [
    atMost('longest pause of a client, ms', ms(own[0]), longestPauseMs),
    fact('longest pause, also while others kept the machine busy, ms', ms(pauses[0])),
    fact('pauses of 200 ms or more that others had a part in', pauses.length - own.length),
    fact('pauses of 200 ms or more', pauses.length),
    fact(
      'wait for an answer, ms: p50, p99, longest',
      [at(0.5), at(0.99), Math.round(waits.at(-1) ?? 0)].join(', '),
    ),
    fact('processor time that others took, %', Math.round(machine.shares.others * 100)),
    fact('processor time that nobody took, %', Math.round(machine.shares.idle * 100)),
  ];
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
