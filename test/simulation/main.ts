// `npm run simulate`: thousands of simulated minutes of faults against the shipped host, by seed, on all
// cores. Every seed can be run again alone, with every line of its trace. What is simulated, and by which
// rules it is judged, is in simulate.ts; this file reads the arguments and prints the result.

import { availableParallelism } from 'node:os';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { conclude, exactly, type Figure, fact } from '../proof/report.ts';
import { Crew } from './crew.ts';
import { runSimulation } from './simulate.ts';
import { columns, Tally } from './tally.ts';

const help = `Usage: npm run simulate -- [options]

Runs the shipped host on a virtual clock, with clock, randomness, processes, network and disk replaced,
and checks every rule at every step. Exits with 1 if one was broken.

  --seeds N       how many seeds (1000)
  --from N        the first of them (1)
  --minutes M     simulated minutes of faults per seed (10)
  --twice         run all of them a second time and compare the traces
  --until-found   stop at the first seed that breaks a rule
  --seed N        only one seed
  --trace         with --seed: print everything that happens
  --jobs N        processes at a time (all cores)
  --json FILE     write the report there as well

Example: npm run simulate -- --seed 42 --minutes 3 --trace
HOLDFAST_BUILD=DIR runs another build than dist/.`;

const published = { seeds: 1_000, minutes: 10, limitSeconds: 180 };
/** Fewer seeds than this need not have met every kind of fault. */
const enoughSeeds = 200;

// Whoever reads along may have seen enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

const options = readOptions();
if (options) await (options.seed === undefined ? runMany(options) : runOne(options.seed, options));

interface Options {
  readonly seeds: number;
  readonly from: number;
  readonly minutes: number;
  readonly jobs: number;
  readonly seed: number | undefined;
  readonly isTwice: boolean;
  readonly isUntilFound: boolean;
  readonly isTraced: boolean;
  readonly json: string | undefined;
}

function readOptions(): Options | undefined {
  try {
    const { values } = parseArgs({
      options: {
        seeds: { type: 'string', default: String(published.seeds) },
        from: { type: 'string', default: '1' },
        minutes: { type: 'string', default: String(published.minutes) },
        jobs: { type: 'string', default: String(availableParallelism()) },
        seed: { type: 'string' },
        twice: { type: 'boolean', default: false },
        'until-found': { type: 'boolean', default: false },
        trace: { type: 'boolean', default: false },
        json: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) return void console.log(help);
    return {
      seeds: whole('seeds', values.seeds, 1),
      from: whole('from', values.from, 0),
      minutes: whole('minutes', values.minutes, 1),
      jobs: whole('jobs', values.jobs, 1),
      seed: values.seed === undefined ? undefined : whole('seed', values.seed, 0),
      isTwice: values.twice,
      isUntilFound: values['until-found'],
      isTraced: values.trace,
      json: values.json,
    };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    console.error(`simulate: ${error.message}; see npm run simulate -- --help`);
    process.exitCode = 2;
    return undefined;
  }
}

function whole(name: string, text: string, least: number): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least && text.trim() !== '') return value;
  throw new RangeError(`--${name} must be a whole number of at least ${least}, not '${text}'`);
}

// --- one seed ----------------------------------------------------------------------------------

async function runOne(seed: number, { minutes, isTraced, isTwice, json }: Options): Promise<void> {
  const tally = new Tally(minutes);
  const report = await runSimulation(seed, { minutes, isTraceKept: isTraced });
  for (const line of report.trace) process.stdout.write(line);
  tally.add(report);
  const again = isTwice ? await runSimulation(seed, { minutes }) : report;
  show(tally);
  const figures = [
    ...counts(tally),
    fact('trace', report.hash),
    exactly('other traces in a second run', again.hash === report.hash ? 0 : 1, 0),
    exactly('violations', tally.violations, 0),
  ];
  conclude({ title: `simulation of seed ${seed}`, figures, findings: tally.findings() }, json);
}

// --- many --------------------------------------------------------------------------------------

async function runMany(given: Options): Promise<void> {
  const { seeds, minutes, isTwice, json } = given;
  const crew = new Crew(given.jobs);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      crew.stop();
      process.exit(signal === 'SIGINT' ? 130 : 143);
    });
  }
  const first = await round(crew, given, 'simulated');
  const { tally, seconds } = first;
  const isRepeated = isTwice && tally.violations === 0;
  const second = isRepeated ? await round(crew, given, 'simulated again') : first;
  show(tally);
  const isPublished = seeds === published.seeds && minutes === published.minutes;
  const differing = tally.differing(second.tally);
  const figures = [
    ...counts(tally),
    isPublished ? under('seconds', seconds, published.limitSeconds) : fact('seconds', seconds),
    ...(isRepeated ? [fact('seconds of the second run', second.seconds)] : []),
    ...(isRepeated ? [exactly('seeds with another trace then', differing.length, 0)] : []),
    fact('hash over all traces', tally.hash()),
    ...(tally.seeds < enoughSeeds
      ? []
      : [
          exactly('kinds of faults not met', unmet(tally.faults()), 0),
          exactly('kinds of happenings not met', unmet(tally.happenings()), 0),
        ]),
    exactly('violations', tally.violations, 0),
  ];
  const unlike = differing.map((seed) => `seed ${seed}: its second run has another trace`);
  const title = `simulation (${code()}, ${minutes} simulated minutes per seed)`;
  conclude({ title, figures, findings: [...tally.findings(), ...unlike] }, json);
}

interface Round {
  readonly tally: Tally;
  readonly seconds: number;
}

async function round(crew: Crew, given: Options, word: string): Promise<Round> {
  const { seeds, from, minutes, isUntilFound } = given;
  const tally = new Tally(minutes);
  const began = performance.now();
  const seconds = () => Math.round((performance.now() - began) / 10) / 100;
  const progress = setInterval(() => {
    const found = tally.violations === 0 ? '' : `, ${tally.violations} violations`;
    console.error(`${tally.seeds} of ${seeds} seeds ${word}${found}, ${Math.round(seconds())} s`);
  }, 10_000);
  const errands = Array.from({ length: seeds }, (_, index) => ({ seed: from + index, minutes }));
  await crew.run(errands, {
    arrived(report) {
      tally.add(report);
      return !(isUntilFound && report.violations.length > 0);
    },
    lost: (seed, how) => tally.lost(seed, how),
  });
  clearInterval(progress);
  return { tally, seconds: seconds() };
}

// --- what came of it ---------------------------------------------------------------------------

function show(tally: Tally): void {
  console.log(`Faults by kind:\n${columns(tally.faults(), 32, 4)}`);
  console.log(
    `Processes that ended by themselves, by code or signal:\n${columns(tally.exits(), 14, 9)}\n`,
  );
}

function counts(tally: Tally): Figure[] {
  const faults = [...tally.faults().values()];
  return [
    fact('seeds', tally.seeds),
    fact('simulated minutes', Math.round(tally.sum(({ simulatedMs }) => simulatedMs) / 60_000)),
    fact(
      'steps, with every rule checked at each',
      tally.sum(({ steps }) => steps),
    ),
    fact(
      'calls',
      tally.sum(({ calls }) => calls),
    ),
    fact(
      "lines in the servers' ledger",
      tally.sum(({ ledgerSize }) => ledgerSize),
    ),
    fact(
      'faults',
      faults.reduce((total, times) => total + times, 0),
    ),
    ...[...tally.happenings()].map(([what, times]) => fact(what, times)),
    fact('kinds of faults', faults.length - unmet(tally.faults())),
  ];
}

function unmet(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].filter((times) => times === 0).length;
}

function under(name: string, value: number, limit: number): Figure {
  return { name, value, goal: `under ${limit}`, isMet: value < limit };
}

/** Which code is simulated: the build, unless built.mjs was not loaded. */
function code(): string {
  const folder = fileURLToPath(new URL('..', import.meta.resolve('../../src/host/host-core.ts')));
  return relative(process.cwd(), folder) || folder;
}
