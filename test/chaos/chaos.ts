// One run of chaos, from the first process to the last figure: a storm to warm up, a moment of rest
// (both left out in the short form), the storm itself, rest again, the end of everything, and then the judgement: the driver's own counts,
// what is left behind, and the independent checker's word on the evidence.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Figure, hasPassed, type Report } from '../proof/report.ts';
import { Dice } from '../support/dice.ts';
import { judge } from './checking.ts';
import { defectsIn, newsOf } from './defects.ts';
import { figuresOf } from './figures.ts';
import { Fleet, ownState } from './fleet.ts';
import { complaints, type GatewayHome } from './gateway.ts';
import { growthText } from './heap-data.ts';
import { type IdlePoint, idlePoint } from './idle-point.ts';
import { twentyWindows } from './instances/twenty-windows.ts';
import { measureNeighbours } from './neighbours/measure.ts';
import { storm } from './storm.ts';
import { survivors } from './survivors.ts';
import { ledgersIn, Tally } from './tally.ts';

export interface ChaosOptions {
  readonly seconds: number;
  readonly seed: number;
  /** The directory of the build on trial. */
  readonly build: string;
  /** Keep the folder of the run even if nothing was found, with the heap at both moments of rest. */
  readonly isKept: boolean;
  /** Warm up, and compare what the gateway holds at rest before and after the storm. */
  readonly isCompared: boolean;
  /** Measure healthy neighbours of bad servers, too, when the storm is over, and how soon windows go on. */
  readonly hasNeighbours: boolean;
  readonly say: (line: string) => void;
  /** Hears of the fleet, so that it can be ended from outside. */
  readonly started?: (fleet: Fleet) => void;
}

export interface Evidence {
  readonly seconds: number;
  readonly tally: Tally;
  /** Absent where nothing is compared. */
  readonly before: IdlePoint | undefined;
  readonly after: IdlePoint;
  readonly orphans: readonly string[];
  /** Events that tell of an error of our own. */
  readonly defects: readonly string[];
}

/** The share of the time that warms up: compiled code goes on growing for a minute of such traffic. */
const warmShare = 0.4;

export async function runChaos(options: ChaosOptions): Promise<Report> {
  const { seed, seconds, say } = options;
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-chaos-'));
  say(`chaos for ${seconds} s with seed ${seed}, evidence in ${folder}`);
  const home = { build: options.build, folder, mark: `chaos-${process.pid}-${Date.now()}` };
  const { figures, findings } = await run(options, home).catch(brokenOff);
  const neighbours = options.hasNeighbours
    ? await visitNeighbours(options, home).catch(brokenOff)
    : nothing;
  const windows = options.hasNeighbours ? await twentyWindows().catch(brokenOff) : nothing;
  const report = {
    title: `Chaos (seed ${seed})`,
    figures: [...figures, ...neighbours.figures, ...windows.figures],
    findings: [...findings, ...neighbours.findings, ...windows.findings],
  };
  if (options.isKept || !hasPassed(report)) say(`the evidence is kept in ${folder}`);
  else rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  return report;
}

interface Outcome {
  readonly figures: readonly Figure[];
  readonly findings: readonly string[];
}

const nothing: Outcome = { figures: [], findings: [] };

/** A run that cannot go on, such as one whose servers never rest, has found something. */
function brokenOff(error: unknown): Outcome {
  return { figures: [], findings: [`the run broke off: ${(error as Error).message}`] };
}

/** A third of the storm's time, after it, with a gateway of its own. */
async function visitNeighbours(options: ChaosOptions, home: GatewayHome): Promise<Outcome> {
  const { seconds, seed, say } = options;
  const measured = await measureNeighbours({ home, seconds: Math.max(16, seconds / 3), seed, say });
  const left = await survivors(home);
  return { figures: measured, findings: left.map((one) => `it outlived the gateway: ${one}`) };
}

async function run(options: ChaosOptions, home: GatewayHome): Promise<Outcome> {
  const { seconds, seed, say } = options;
  const { folder } = home;
  const dice = new Dice(String(seed));
  const tally = new Tally();
  const fleet = await Fleet.start({ home, seed, dice });
  options.started?.(fleet);
  try {
    const resting = { fleet, tally, isCompared: options.isCompared, hasSnapshot: options.isKept };
    const warmSeconds = options.isCompared ? seconds * warmShare : 0;
    let before: IdlePoint | undefined;
    if (options.isCompared) {
      await storm({ name: 'warm', seconds: warmSeconds, fleet, dice, tally });
      say(`warm: ${tally.calls} calls; resting`);
      before = await idlePoint({ ...resting, name: 'rest-1' });
    }
    await storm({ name: 'storm', seconds: seconds - warmSeconds, fleet, dice, tally });
    say(`the storm is over: ${tally.calls} calls; resting`);
    const after = await idlePoint({ ...resting, name: 'rest-2' });
    if (before?.data && after.data) {
      writeFileSync(join(folder, 'heap-growth.txt'), growthText(before.data, after.data));
    }
    await fleet.close();
    const orphans = [...fleet.orphans, ...(await survivors(home))];
    tally.countOrdered(ledgersIn(folder));
    tally.countClaims(fleet.claims);
    const verdict = await judge(folder);
    const defects = defectsIn(folder);
    const own = figuresOf({ seconds, tally, before, after, orphans, defects });
    const said = [
      fleet.gateway.complaints,
      fleet.guarded.gateway.complaints,
      ...fleet.own.map(({ name }) => complaints({ ...home, state: ownState(name) })),
      fleet.instances.complaints,
    ]
      .join('\n')
      .split('\n');
    const isNews = newsOf(fleet.servers.map(({ name }) => name));
    const findings = [
      ...fleet.findings,
      ...orphans.map((one) => `[no-orphans] it outlived the gateway: ${one}`),
      ...[...(before?.zombies ?? []), ...after.zombies].map((one) => `a zombie: ${one}`),
      ...defects.map((one) => `[one-bad-neighbour] a defect of ours: ${one}`),
      ...said
        .filter((line) => line !== '' && !isNews(line))
        .map((line) => `a gateway complained: ${line}`),
      ...verdict.findings,
    ];
    return { figures: [...own, ...verdict.figures], findings };
  } finally {
    await fleet.close();
  }
}
