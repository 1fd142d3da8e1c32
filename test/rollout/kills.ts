// kill -9 in the middle of rollouts: of the successor before it is ready, at the fence and after it, of the incumbent at
// such moments, and of both; last of the pid-holder, with which everything ends. Until then one instance serves again
// soon, and what was answered was done once.

import { setTimeout as after } from 'node:timers/promises';
import { atMost, exactly, type Figure, fact, type Report } from '../proof/report.ts';
import { statusOf } from '../support/connect-window.ts';
import { until } from '../support/until.ts';
import { judge } from './judge.ts';
import { type LightWorld, lightWorld } from './light-world.ts';
import { isAlive, processesOf } from './processes.ts';

export interface KillsSize {
  /** Of each kind. */
  readonly kills: number;
  readonly dice: () => number;
  readonly progress: (text: string) => void;
}

export const victims = ['successor', 'incumbent', 'both'] as const;
export type Victim = (typeof victims)[number];

const againMs = 10_000;
const goneMs = 2_000;
/** A rollout takes about so long from its beginning. */
const rolloutMs = 1_500;
/** A pid-holder gives up at the sixth death within a minute. */
const killsOfInstance = 4;

export async function killsIn({
  kills,
  dice,
  progress,
}: KillsSize): Promise<Omit<Report, 'title'>> {
  const findings: string[] = [];
  const figures: Figure[] = [];
  for (const victim of victims) {
    const found = await killed(victim, kills, dice, progress);
    figures.push(
      exactly(`${victim} killed: served again`, found.backMs.length, kills),
      atMost(
        `${victim} killed: slowest next answer, ms`,
        Math.round(Math.max(...found.backMs)),
        againMs,
      ),
      fact(`${victim} killed: rollouts that went on`, found.rolled),
      fact(`${victim} killed: calls that failed`, found.failed),
      exactly(`${victim} killed: findings`, found.findings.length, 0),
    );
    findings.push(...found.findings);
  }
  const left = await killHolder();
  figures.push(exactly('pid-holder killed: processes after 2 s', left.length, 0));
  return { figures, findings: [...findings, ...left] };
}

export interface Killed {
  /** From each kill until an answer. */
  readonly backMs: readonly number[];
  /** Answers of `holdfast rollout` that it was done. */
  readonly rolled: number;
  readonly failed: number;
  readonly findings: readonly string[];
}

export async function killed(
  victim: Victim,
  kills: number,
  dice: () => number,
  progress: (text: string) => void,
): Promise<Killed> {
  const backMs: number[] = [];
  const findings: string[] = [];
  let rolled = 0;
  let failed = 0;
  for (let done = 0; done < kills; ) {
    const world = await lightWorld();
    try {
      for (const last = Math.min(kills, done + killsOfInstance); done < last; done += 1) {
        const atMs = Math.round(dice() * rolloutMs);
        const name = `${victim} at ${atMs} ms`;
        const one = await killOne(world, victim, atMs);
        rolled += one.isRolled ? 1 : 0;
        if (typeof one.back === 'number') backMs.push(one.back);
        else findings.push(`${name}: ${one.back}`);
        findings.push(...one.findings.map((text) => `${name}: ${text}`));
        progress(`${name}: ${one.isKilled}; answers again after ${one.back} ms`);
      }
      await world.rest();
      const { twice, lost, foreign, failed: notAnswered } = judge(world.history, world.files);
      failed += notAnswered.length;
      findings.push(...twice, ...lost, ...foreign);
    } catch (error) {
      done += 1;
      findings.push(`${victim}: ${String(error)}; ${world.instance.started.stderr.slice(-500)}`);
    } finally {
      await world[Symbol.asyncDispose]();
    }
  }
  return { backMs, rolled, failed, findings };
}

async function killOne(world: LightWorld, victim: Victim, atMs: number) {
  const { home, instance } = world;
  const [incumbent = 0] = (await processesOf(instance.pid)).serving;
  const asked = home.run(['rollout', '--json']);
  const successor = async () =>
    (await processesOf(instance.pid)).serving.find((pid) => pid !== incumbent);
  await until(async () => (await successor()) !== undefined, 'a successor');
  const other = (await successor()) ?? 0;
  await after(atMs);
  const chosen = { successor: [other], incumbent: [incumbent], both: [incumbent, other] }[victim];
  const alive = chosen.filter(isAlive);
  const from = performance.now();
  for (const pid of alive) process.kill(pid, 'SIGKILL');
  const back = await world.answersAgain(againMs).then(
    () => performance.now() - from,
    (error: unknown) => `no answer: ${String(error)}`,
  );
  const { code, stderr } = await asked;
  const findings: string[] = [];
  const isAlone = async () => (await processesOf(instance.pid)).serving.length === 1;
  await until(isAlone, 'one process serves', againMs).catch(async () => {
    findings.push(`serving are ${(await processesOf(instance.pid)).serving.join(' ')}`);
  });
  if (!isAlive(instance.pid)) findings.push('the pid-holder has ended');
  else if ((await statusOf(home)).instanceState !== 'running') {
    findings.push(`status: ${JSON.stringify((await statusOf(home)).instanceState)}`);
  }
  if (code !== 0 && code !== 3) findings.push(`holdfast rollout ended with ${code}: ${stderr}`);
  const isKilled = `${alive.length} of ${chosen.length} killed, rollout ended with ${code}`;
  return { back, findings, isRolled: code === 0, isKilled };
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
