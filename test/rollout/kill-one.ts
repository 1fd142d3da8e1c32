// One kill -9 in a phase of a rollout, and what came of it: which phase it has met, when an answer came again, which
// calls failed, and what is wrong with the instance afterwards.

import { setTimeout as after } from 'node:timers/promises';
import { statusOf } from '../support/connect-window.ts';
import { until } from '../support/until.ts';
import type { LightWorld } from './light-world.ts';
import { firstStep, type Killed, lengthsIn, type Phase, phaseMet, type Victim } from './phases.ts';
import { isAlive, processesOf } from './processes.ts';

export interface KillPlan {
  readonly victim: Victim;
  readonly phase: Phase;
  readonly lengths: ReadonlyMap<Phase, number>;
  /** Between 0 and 1: how far the phase has gone. */
  readonly share: number;
}

export interface Kill {
  /** Who was really killed: the process before may have ended by itself. Undefined: nobody. */
  readonly victim: Victim | undefined;
  readonly meant: Phase;
  /** Undefined: the rollout had ended before. */
  readonly met: Phase | undefined;
  /** In ms until an answer, or why there is none. */
  readonly back: number | string;
  readonly failed: readonly string[];
  readonly findings: readonly string[];
}

export const againMs = 10_000;
/** The last phase ends with the calls of the process before; some take a second and a half. */
const servingMs = 300;
/** A phase may be shorter than it was in the first rollout. */
const surely = 0.7;
const settledMs = 20_000;

/** One to which nothing happens: how long each phase takes here. */
export async function rollOnce({
  home,
  instance,
}: LightWorld): Promise<ReadonlyMap<Phase, number>> {
  const { code, stderr } = await home.run(['rollout', '--json']);
  if (code !== 0) throw new Error(`the first rollout has ended with ${code}: ${stderr}`);
  await until(async () => (await servingOf(instance.pid)).length === 1, 'the former has ended');
  return lengthsIn(instance.log.said);
}

export async function killOne(world: LightWorld, plan: KillPlan): Promise<Kill> {
  const { home, instance, history } = world;
  const { victim, phase, lengths, share } = plan;
  const { log } = instance;
  const [saidBefore, settledBefore] = [log.said.length, history.settled.length];
  const [incumbent = 0] = await servingOf(instance.pid);
  const over = new AbortController();
  const asked = home.run(['rollout', '--json']).finally(() => over.abort());
  await log.says(firstStep[phase], saidBefore, over.signal);
  const other = await successorOf(instance.pid, incumbent);
  const length = lengths.get(phase) ?? 0;
  await after(surely * share * (Number.isNaN(length) ? servingMs : length));
  const chosen = { successor: [other], incumbent: [incumbent], both: [incumbent, other] }[victim];
  const alive = chosen.filter(isAlive);
  const saidAtKill = log.said.length - saidBefore;
  const from = performance.now();
  for (const pid of alive) process.kill(pid, 'SIGKILL');
  const back = await world.answersAgain(againMs).then(
    () => performance.now() - from,
    (error: unknown) => `no answer: ${String(error)}`,
  );
  const { code, stderr } = await asked;
  const findings = await wrongWith(world);
  if (code !== 0 && code !== 3) findings.push(`holdfast rollout ended with ${code}: ${stderr}`);
  findings.push(...(await unansweredIn(world)));
  const isKilled = {
    incumbent: alive.includes(incumbent),
    successor: alive.includes(other) ? other : undefined,
  };
  return {
    victim: victimOf(isKilled),
    meant: phase,
    met: phaseMet(log.said.slice(saidBefore), saidAtKill, isKilled),
    back: typeof back === 'number' ? Math.round(back) : back,
    failed: history.settled
      .slice(settledBefore)
      .filter(({ outcome }) => outcome === 'failed')
      .map(({ client, nonce, detail }) => `${client} ${nonce}: ${detail}`),
    findings,
  };
}

function victimOf({ incumbent, successor }: Killed): Victim | undefined {
  if (successor !== undefined) return incumbent ? 'both' : 'successor';
  return incumbent ? 'incumbent' : undefined;
}

async function servingOf(holder: number): Promise<readonly number[]> {
  return (await processesOf(holder)).serving;
}

async function successorOf(holder: number, incumbent: number): Promise<number> {
  let found: number | undefined;
  await until(async () => {
    found = (await servingOf(holder)).find((pid) => pid !== incumbent);
    return found !== undefined;
  }, 'a successor');
  return found ?? 0;
}

/** When it is at rest again. */
async function wrongWith({ home, instance }: LightWorld): Promise<string[]> {
  const { pid } = instance;
  const isAlone = async () => (await servingOf(pid)).length === 1;
  const alone = await until(isAlone, 'one process serves', againMs).then(
    () => [],
    async () => [`serving are ${(await servingOf(pid)).join(' ')}`],
  );
  if (!isAlive(pid)) return [...alone, 'the pid-holder has ended'];
  const { instanceState } = await statusOf(home);
  return instanceState === 'running' ? alone : [...alone, `it is ${JSON.stringify(instanceState)}`];
}

/** Of the calls that are under way now: each is answered, or has failed, before the next kill. */
async function unansweredIn({ history }: LightWorld): Promise<readonly string[]> {
  const now = new Set(history.open);
  const left = () => history.open.filter((one) => now.has(one));
  await until(() => left().length === 0, 'every call ends', settledMs).catch(() => {});
  return left().map((one) => `without an answer: ${one}`);
}
