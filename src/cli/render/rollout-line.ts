// What `status` says of a rollout that is wanted, runs, or has failed: one line.

import type { InstanceStatus } from '../../instance/operations.ts';
import { printableLine } from '../../kernel/printable.ts';
import { agoText } from './quantity.ts';

/** Undefined if there is nothing to say, or the instance is of a version that does not tell. `now` is wall time. */
export function rolloutText(
  {
    rollout,
    rollouts,
  }: Pick<InstanceStatus, 'rollout'> & Partial<Pick<InstanceStatus, 'rollouts'>>,
  now: number,
): string | undefined {
  if (rollouts === undefined) return undefined;
  const { cause, at, launchPathStable } = rollouts;
  const path = launchPathStable
    ? []
    : ['the path that the instance was started by leads elsewhere, or nowhere'];
  const since = at === null ? '' : `, ${agoText(now - at)}`;
  const why = cause === null ? '' : `: ${printableLine(cause)}`;
  const state = rollout === 'stable' ? [] : [`rollout ${rollout}${since}${why}`];
  const said = [...state, ...path];
  return said.length === 0 ? undefined : said.join('; ');
}
