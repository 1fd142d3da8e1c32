// Rollouts in turn while clients ask: of the instance by the command and by SIGHUP, of the gateways at the pipes of a
// client by SIGHUP, which is all that they hear.

import { setTimeout as after } from 'node:timers/promises';
import { ignored } from '../../src/kernel/contain.ts';
import { statusOf } from '../support/connect-window.ts';
import { until } from '../support/until.ts';
import { type MemoryLook, memoryOf } from './memory.ts';
import { processesOf } from './processes.ts';
import type { World } from './world.ts';

export interface Rolled {
  /** Of the instance, by its own count. */
  readonly done: number;
  readonly failures: readonly string[];
  readonly pausesMs: readonly number[];
  readonly memory: readonly MemoryLook[];
  readonly mostFormers: number;
}

export interface RollOptions {
  readonly rollouts: number;
  /** Between 0 and 1. */
  readonly dice: () => number;
  readonly progress: (text: string) => void;
}

const servedMs = 20_000;

/** One in so many follows while the process before still ends its work. */
const quickEvery = 5;

export async function roll(world: World, options: RollOptions): Promise<Rolled> {
  const { home, instance } = world;
  const { rollouts, dice, progress } = options;
  const failures: string[] = [];
  const pausesMs: number[] = [];
  const memory: MemoryLook[] = [];
  let mostFormers = 0;
  for (let number = 1; number <= rollouts; number += 1) {
    await after(dice() * 1_000);
    try {
      const pauseMs = await rollAll(world, number % quickEvery === 0);
      if (pauseMs !== undefined) pausesMs.push(pauseMs);
    } catch (error) {
      failures.push(`rollout ${number}: ${String(error)}`);
    }
    const { serving } = await processesOf(instance.pid);
    mostFormers = Math.max(mostFormers, serving.length - 1);
    const isQuick = number % quickEvery === quickEvery - 1;
    if (!isQuick) memory.push(await memoryOf(instance, serving.at(-1) ?? 0, number));
    const { settled } = world.history;
    const wrong = settled.filter(({ outcome }) => outcome !== 'answered').length;
    progress(
      `rollout ${number}: pause ${pausesMs.at(-1)} ms, ${settled.length} calls, ${wrong} wrong, ${serving.length} processes served, ${memoryText(memory.at(-1))}`,
    );
  }
  const done = (await statusOf(home)).rollouts?.count ?? 0;
  return { done, failures, pausesMs, memory, mostFormers };
}

function memoryText(look: MemoryLook | undefined): string {
  if (look === undefined) return 'no look at the memory';
  const text = ({ used, resident }: MemoryLook['holder']) =>
    `${used.toFixed(1)} of ${Math.round(resident)}`;
  return `in use ${text(look.holder)} and ${text(look.serving)} MiB`;
}

/** All three gateways; the pause as the instance tells it, to whom asks by the command. */
async function rollAll(world: World, isBySignal: boolean): Promise<number | undefined> {
  const others = [...world.holders].filter(([name]) => name !== 'instance');
  const hangups = Promise.all(others.map(([, pid]) => hangUp(pid)));
  // It is awaited at the end, and may fail before.
  hangups.catch(ignored);
  try {
    if (isBySignal) return void (await hangUpInstance(world));
    const { code, stdout, stderr } = await world.home.run(['rollout', '--json']);
    if (code !== 0) throw new Error(`exit code ${code}: ${stdout}${stderr}`);
    const { pauseMs, left } = JSON.parse(stdout) as { pauseMs: number; left: string[] };
    if (left.length > 0) throw new Error(`it has left ${left.join(', ')}`);
    return pauseMs;
  } finally {
    await hangups;
  }
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
