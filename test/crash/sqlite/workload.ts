// What is written to a database in a crash test, made from a seed: records, log entries, queue items and
// counts. Every value carries the number of its step, so that each value that is found later can be told
// from all others. Steps of a group are asked at once, and so committed together; the groups follow each
// other.

import type { Dice } from '../../support/dice.ts';

export type Step = { readonly step: number } & (
  | { readonly kind: 'put'; readonly key: string; readonly pad: number }
  | { readonly kind: 'remove'; readonly key: string }
  | { readonly kind: 'append'; readonly pad: number }
  | { readonly kind: 'enqueue'; readonly pad: number }
  /** Claims an item and acknowledges it. */
  | { readonly kind: 'work' }
  | { readonly kind: 'take'; readonly key: string; readonly amount: number }
);

type Group = readonly Step[];

export interface Workload {
  readonly groups: readonly Group[];
  /** After these groups, counted from 0, the store is closed and opened again. */
  readonly reopenAfter: readonly number[];
  /** Whether the store is closed at the end; otherwise the process kills itself. */
  readonly isClosed: boolean;
}

export interface WorkloadOptions {
  readonly groups: number;
  /** The steps of the largest group. */
  readonly atOnce?: number;
  /** Bytes of the largest value. */
  readonly largest: number;
  readonly reopenAfter?: readonly number[];
  readonly isClosed?: boolean;
}

/** What is written for a step. */
export interface Written {
  readonly step: number;
  readonly pad: string;
}

export const recordKeys: readonly string[] = ['a', 'b', 'c/d', 'é\u0000', 'long '.repeat(20), 'f'];
export const counterKeys: readonly string[] = ['one', 'two'];
/** More than is ever taken. */
export const counterLimit = 1_000_000;

export function writtenBy(step: number, pad: number): Written {
  return { step, pad: `${step} `.repeat(Math.ceil(pad / 4)).slice(0, pad) };
}

export function workload(dice: Dice, options: WorkloadOptions): Workload {
  const { reopenAfter = [], isClosed = true, atOnce = 4 } = options;
  let steps = 0;
  const groups = Array.from({ length: options.groups }, () => {
    const size = dice.between(1, atOnce);
    const first = steps;
    steps += size;
    const group = Array.from({ length: size }, (_, at) => {
      return { step: first + at, ...drawn(dice, options.largest) } as Step;
    });
    // Two workers at once would be handed items in an order that the log of one of them does not show.
    const works = group.filter(({ kind }) => kind === 'work');
    return group.filter((one) => one.kind !== 'work' || one === works[0]);
  });
  return { groups, reopenAfter, isClosed };
}

/** The same, with the numbers of its steps after so many others. */
export function later(work: Workload, by: number): Workload {
  const groups = work.groups.map((group) => group.map((one) => ({ ...one, step: one.step + by })));
  return { ...work, groups };
}

const kinds = [
  { kind: 'put', weight: 4 },
  { kind: 'remove', weight: 1 },
  { kind: 'append', weight: 2 },
  { kind: 'enqueue', weight: 2 },
  { kind: 'work', weight: 1 },
  { kind: 'take', weight: 2 },
] as const;

function drawn(dice: Dice, largest: number) {
  const { kind } = dice.weighed(kinds);
  const pad = dice.chance(0.1) ? largest : dice.between(0, 300);
  switch (kind) {
    case 'put':
      return { kind, key: dice.pick(recordKeys), pad };
    case 'remove':
      return { kind, key: dice.pick(recordKeys) };
    case 'append':
    case 'enqueue':
      return { kind, pad };
    case 'work':
      return { kind };
    case 'take':
      return { kind, key: dice.pick(counterKeys), amount: dice.between(1, 5) };
  }
}
