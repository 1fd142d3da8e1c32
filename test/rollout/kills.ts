// kill -9 in the middle of rollouts: of the successor, of the incumbent, and of both, in each phase on purpose; last of
// the pid-holder, with which everything ends. Until then one instance serves again soon, and what was answered was done
// once. kill-one.ts has a single kill.

import { setTimeout as after } from 'node:timers/promises';
import { atMost, exactly, type Figure, fact, type Report } from '../proof/report.ts';
import { judge } from './judge.ts';
import { againMs, type Kill, killOne, rollOnce } from './kill-one.ts';
import { lightWorld } from './light-world.ts';
import { mayFail, type Phase, phases, type Victim, victims } from './phases.ts';
import { isAlive, processesOf } from './processes.ts';

export interface KillsSize {
  /** Of each kind. */
  readonly kills: number;
  readonly dice: () => number;
  readonly progress: (text: string) => void;
}

const goneMs = 2_000;
/** A pid-holder gives up at the sixth death within a minute. */
const killsOfInstance = 4;
/** Kills that came in another phase than they were meant for are counted there, and so many are done once more. */
const mostAgain = 3;

export async function killsIn({
  kills,
  dice,
  progress,
}: KillsSize): Promise<Omit<Report, 'title'>> {
  const findings: string[] = [];
  const figures: Figure[] = [];
  const all: Kill[] = [];
  let asMeant = 0;
  for (const victim of victims) {
    const plan = Array.from({ length: kills }, (_, at) => phases[at % phases.length] as Phase);
    const found = await killed(victim, plan, dice, progress);
    const backMs = backMsOf(found.kills);
    figures.push(
      exactly(`${victim} killed: served again`, backMs.length, found.kills.length),
      atMost(`${victim} killed: slowest next answer, ms`, slowest(backMs), againMs),
      exactly(`${victim} killed: findings`, found.findings.length, 0),
    );
    all.push(...found.kills);
    asMeant += found.kills.filter((kill) => isAsMeant(kill, victim)).length;
    findings.push(...found.findings);
  }
  const left = await killHolder();
  figures.push(
    ...phases.flatMap((phase) => victims.map((victim) => rowOf(phase, victim, all))),
    fact('kills that met the phase they were meant for', asMeant),
    exactly('pid-holder killed: processes after 2 s', left.length, 0),
  );
  return { figures, findings: [...findings, ...left] };
}

function isAsMeant(kill: Kill, victim: Victim): boolean {
  return kill.meant === kill.met && kill.victim === victim;
}

function backMsOf(kills: readonly Kill[]): readonly number[] {
  return kills.flatMap(({ back }) => (typeof back === 'number' ? [back] : []));
}

function slowest(backMs: readonly number[]): number {
  return Math.round(Math.max(0, ...backMs));
}

/** What the kills that have met this phase have cost. */
function rowOf(phase: Phase, victim: Victim, all: readonly Kill[]): Figure {
  const name = `${victim} killed, phase ${phase}`;
  const kills = all.filter((one) => one.met === phase && one.victim === victim);
  if (kills.length === 0) return fact(name, 'none');
  const failed = kills.reduce((sum, one) => sum + one.failed.length, 0);
  const value = `${kills.length} kills, served again after at most ${slowest(backMsOf(kills))} ms, failed calls ${failed}`;
  if (mayFail[phase][victim]) return fact(name, value);
  return { name, value, goal: 'no failed call', isMet: failed === 0 };
}

export interface Killed {
  readonly kills: readonly Kill[];
  readonly findings: readonly string[];
}

/** One kill for each phase that is named. */
export async function killed(
  victim: Victim,
  plan: readonly Phase[],
  dice: () => number,
  progress: (text: string) => void,
): Promise<Killed> {
  const kills: Kill[] = [];
  const findings: string[] = [];
  const left = [...plan];
  for (let again = mostAgain; left.length > 0; ) {
    const world = await lightWorld();
    try {
      const lengths = await rollOnce(world);
      for (const phase of left.splice(0, killsOfInstance)) {
        const kill = await killOne(world, { victim, phase, lengths, share: dice() });
        kills.push(kill);
        if (!isAsMeant(kill, victim) && again > 0) {
          left.push(phase);
          again -= 1;
        }
        const name = `${victim}, phase ${kill.met ?? 'none'}, meant ${phase}`;
        findings.push(...findingsOf(kill).map((text) => `${name}: ${text}`));
        progress(`${name}: answers again after ${kill.back} ms, ${kill.failed.length} failed`);
      }
      await world.rest();
      const { twice, lost, foreign } = judge(world.history, world.files);
      findings.push(...twice, ...lost, ...foreign);
    } catch (error) {
      findings.push(`${victim}: ${String(error)}; ${world.instance.started.stderr.slice(-500)}`);
    } finally {
      await world[Symbol.asyncDispose]();
    }
  }
  return { kills, findings };
}

function findingsOf({ back, findings, failed, met, victim }: Kill): readonly string[] {
  const isAllowed = met !== undefined && victim !== undefined && mayFail[met][victim];
  return [
    ...(typeof back === 'number' ? [] : [back]),
    ...findings,
    ...(isAllowed ? [] : failed.map((text) => `failed: ${text}`)),
  ];
}

/** What is left of it, and whether the windows go on. */
export async function killHolder(): Promise<readonly string[]> {
  const world = await lightWorld();
  try {
    const { serving, others } = await processesOf(world.instance.pid);
    const asked = world.home.run(['rollout', '--json']);
    await after(300);
    const all = [...serving, ...others, ...(await processesOf(world.instance.pid)).serving];
    process.kill(world.instance.pid, 'SIGKILL');
    await after(goneMs);
    const left = all.filter(isAlive).map((pid) => `process ${pid} outlives the pid-holder`);
    await asked;
    const again = await world.windowAnswers().then(
      () => [],
      (error: unknown) => [`a window after the end of the pid-holder: ${String(error)}`],
    );
    return [...left, ...again];
  } finally {
    await world[Symbol.asyncDispose]();
  }
}
