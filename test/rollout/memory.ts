// The memory of the processes of an instance over many rollouts. Each serving process is a new one, so each is looked at
// at the same age; what counts is what is in use after a forced collection, because what Node has not yet collected
// differs from process to process by more than a leak would be.

import { readFileSync } from 'node:fs';
import { setTimeout as after } from 'node:timers/promises';
import { atMost, type Figure, fact } from '../proof/report.ts';
import { type Instance, usedMiB } from './instance.ts';
import { residentMiB } from './processes.ts';

export interface MemoryLook {
  /** Of the rollout after which it was. */
  readonly rollout: number;
  readonly holder: Used;
  readonly serving: Used;
}

interface Used {
  /** On the heap and in buffers. */
  readonly used: number;
  /** Of all that the system has given it. */
  readonly resident: number;
}

/** It has served for about two seconds then, and the process before has ended. */
const ageMs = 3_000;
/** Over the whole run. */
const usedGrowthMiB = 3;
const residentGrowthMiB = 20;
/** Fewer say nothing about growth. */
const fewest = 12;

export async function memoryOf(
  { pid, inspectors }: Instance,
  serving: number,
  rollout: number,
): Promise<MemoryLook> {
  await after(Math.max(0, ageMs - ageOf(serving)));
  // Before the collection, which gives some of it back.
  const resident = { holder: residentMiB(pid), serving: residentMiB(serving) };
  return {
    rollout,
    holder: { used: await usedMiB(inspectors.at(0)), resident: resident.holder },
    serving: { used: await usedMiB(inspectors.at(-1)), resident: resident.serving },
  };
}

export function memoryFigures(looks: readonly MemoryLook[], sizes: readonly number[]): Figure[] {
  const names = { holder: 'pid-holder', serving: 'serving process' } as const;
  const figures = (['holder', 'serving'] as const).flatMap((who) => {
    const used = looks.map((look) => [look.rollout, look[who].used] as const);
    const resident = looks.map((look) => [look.rollout, look[who].resident] as const);
    const name = names[who];
    return [
      fact(`memory in use, ${name}, MiB`, median(used.map(([, mib]) => mib))),
      ...growth(`growth of what the ${name} uses, MiB`, used, usedGrowthMiB),
      fact(`resident memory, ${name}, MiB`, Math.round(median(resident.map(([, mib]) => mib)))),
      ...growth(`growth of resident memory, ${name}, MiB`, resident, residentGrowthMiB),
    ];
  });
  const kib = sizes.map((bytes) => Math.round(bytes / 1_024));
  return [...figures, fact('what a successor is told, KiB: first and last', firstAndLast(kib))];
}

type Point = readonly [number, number];

function growth(name: string, points: readonly Point[], limit: number): readonly Figure[] {
  if (points.length < fewest) return [];
  const [first = [0], last = [0]] = [points.at(0), points.at(-1)];
  return [atMost(name, slopeOf(points) * (last[0] - first[0]), limit)];
}

/** Of the line with the least squares. */
function slopeOf(points: readonly Point[]): number {
  const mean = (all: readonly number[]) => all.reduce((sum, one) => sum + one, 0) / all.length;
  const [middle, height] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const above = points.reduce((sum, [x, y]) => sum + (x - middle) * (y - height), 0);
  return above / points.reduce((sum, [x]) => sum + (x - middle) ** 2, 0);
}

export function median(all: readonly number[]): number {
  return [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;
}

function firstAndLast(all: readonly number[]): string {
  return all.length === 0 ? 'none' : `${all.at(0)} and ${all.at(-1)}`;
}

const ticksInSecond = 100;

/** Since the system has started it, in ms. */
function ageOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const begun = Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[19]) / ticksInSecond;
  return (Number(readFileSync('/proc/uptime', 'latin1').split(' ')[0]) - begun) * 1_000;
}
