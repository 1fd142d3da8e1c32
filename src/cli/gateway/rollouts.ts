// The rollouts of a gateway: what the config says, and the line that reports how one
// has ended.

import { ownIdentity } from '../../host/identity.ts';
import type { Caught } from '../../kernel/contain.ts';
import type { Rolled } from '../../rollout/conductor.ts';
import type { RolloutOutcome } from '../../rollout/rollout-state.ts';
import { ServingRollouts, type ServingRolloutsParts } from '../../rollout/serving-rollouts.ts';
import { detail, remark, type Shell } from '../shell.ts';
import type { ConfigInUse } from './config-in-use.ts';

/** `hands`: the holder of this process, and how it hands over; absent: it has no holder. */
export function openRollouts(
  shell: Shell,
  inUse: ConfigInUse,
  caught: Caught,
  more: Pick<ServingRolloutsParts, 'installed'> &
    Partial<Pick<ServingRolloutsParts, 'hands' | 'history' | 'origin'>>,
): ServingRollouts {
  const { version: program } = ownIdentity();
  return new ServingRollouts({
    clock: shell.clock,
    isAuto: () => inUse.used.config.rollout === 'auto',
    origin: { program, instance: '' },
    report: (result) => remark(shell, reportText(result)),
    lost: ({ detail }) =>
      remark(shell, `${detail}, before it has taken over; another one is started`),
    caught,
    progress: (text) => detail(shell, text),
    ...more,
  });
}

function reportText(result: Rolled | Extract<RolloutOutcome, { readonly kind: 'failed' }>): string {
  if (result.kind === 'failed') {
    if (result.cause.reason === 'shutdown')
      return `the rollout was given up: ${result.cause.detail}`;
    return `the rollout has failed, and this version serves on: ${result.cause.detail}`;
  }
  return `holdfast ${result.to} has taken over from ${result.from}`;
}
