// The serving processes below a pid-holder, from outside: which there are, in the order in which they were started, and
// to which instance each belongs. A successor has the instance of the one before it; one that is started because
// another has died begins a new one.

import { allProcesses, variableOf } from '../process-list.ts';

export interface Serving {
  readonly pid: number;
  readonly ordinal: number;
  readonly instance: string;
}

export function servingOf(holder: number): readonly Serving[] {
  const found = allProcesses().flatMap(({ pid, parent, isZombie }) => {
    if (parent !== holder || isZombie) return [];
    const [, ordinal, instance] = (variableOf(pid, 'HOLDFAST_HOLDER') ?? '').split(':');
    return instance === undefined ? [] : [{ pid, ordinal: Number(ordinal), instance }];
  });
  return found.sort((one, other) => one.ordinal - other.ordinal);
}

export function isThere(pid: number): boolean {
  return allProcesses().some((one) => one.pid === pid && !one.isZombie);
}
