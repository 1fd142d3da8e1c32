// Rollouts in turn while clients ask: of the instance by the command and by SIGHUP, of the gateways at the pipes of a
// client by SIGHUP, which is all that they hear.

import { setTimeout as after } from 'node:timers/promises';
import { statusOf } from '../support/connect-window.ts';
import { until } from '../support/until.ts';
import { processesOf, residentMiB } from './processes.ts';
import type { World } from './world.ts';

export interface Rolled {
  /** Of the instance, by its own count. */
  readonly done: number;
  readonly failures: readonly string[];
  readonly pausesMs: readonly number[];
  /** Of pid-holder and serving process of the instance, in MiB, after each rollout. */
  readonly memory: readonly { readonly holder: number; readonly serving: number }[];
  readonly mostFormers: number;
}

export interface RollOptions {
  readonly rollouts: number;
  /** Between 0 and 1. */
  readonly dice: () => number;
  readonly progress: (text: string) => void;
}

const servedMs = 20_000;

export async function roll(world: World, options: RollOptions): Promise<Rolled> {
  const { home, instance, holders } = world;
  const { rollouts, dice, progress } = options;
  const failures: string[] = [];
  const pausesMs: number[] = [];
  const memory: Rolled['memory'][number][] = [];
  let mostFormers = 0;
  for (let number = 1; number <= rollouts; number += 1) {
    await after(300 + dice() * 1_200);
    try {
      const others = [...holders].filter(([name]) => name !== 'instance');
      const hangups = others.map(([, pid]) => hangUp(pid));
      if (number % 5 === 0) await hangUpInstance(world);
      else {
        const { code, stdout, stderr } = await home.run(['rollout', '--json']);
        if (code !== 0) throw new Error(`exit code ${code}: ${stdout}${stderr}`);
        const done = JSON.parse(stdout) as { pauseMs: number; left: string[] };
        pausesMs.push(done.pauseMs);
        if (done.left.length > 0) failures.push(`rollout ${number} left ${done.left.join(', ')}`);
      }
      await Promise.all(hangups);
    } catch (error) {
      failures.push(`rollout ${number}: ${String(error)}`);
    }
    const { serving } = await processesOf(instance.pid);
    mostFormers = Math.max(mostFormers, serving.length - 1);
    const last = { holder: residentMiB(instance.pid), serving: residentMiB(serving.at(-1) ?? 0) };
    memory.push(last);
    const { settled } = world.history;
    const wrong = settled.filter(({ outcome }) => outcome !== 'answered').length;
    progress(
      `rollout ${number}: pause ${pausesMs.at(-1)} ms, ${settled.length} calls, ${wrong} wrong, ${serving.length} processes serve, ${Math.round(last.holder)} and ${Math.round(last.serving)} MiB`,
    );
  }
  const done = (await statusOf(home)).rollouts?.count ?? 0;
  return { done, failures, pausesMs, memory, mostFormers };
}

/** A process serves that was not there before, and is the only one or the last. */
async function hangUp(holder: number): Promise<void> {
  const before = (await processesOf(holder)).serving;
  process.kill(holder, 'SIGHUP');
  const isNew = async () => {
    const { serving } = await processesOf(holder);
    return serving.some((pid) => !before.includes(pid));
  };
  await until(isNew, `a successor below ${holder}`, servedMs);
}

/** Its count of rollouts is one more. */
async function hangUpInstance({ home, instance }: World): Promise<void> {
  const count = async (): Promise<number> => (await statusOf(home)).rollouts?.count ?? 0;
  const before = await count();
  process.kill(instance.pid, 'SIGHUP');
  await until(async () => (await count()) > before, 'the rollout that SIGHUP asks for', servedMs);
}

/** Only one process serves below each holder. */
export async function formersGone(world: World): Promise<readonly string[]> {
  const left: string[] = [];
  for (const [name, holder] of world.holders) {
    const isAlone = async () => (await processesOf(holder)).serving.length === 1;
    const most = 15_000;
    await until(isAlone, 'one process', most).catch(async () => {
      const { serving } = await processesOf(holder);
      left.push(`${name}: ${serving.length} processes serve below ${holder}: ${serving.join(' ')}`);
    });
  }
  return left;
}
