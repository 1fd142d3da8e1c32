// A rollout that somebody has asked for, as the command is told of it. What cannot be done at all is a Fault.

import type { RolloutTold } from '../../instance/operations.ts';
import { Fault } from '../../kernel/fault.ts';
import { waitsFor } from '../../rollout/rollout-reading.ts';
import type { AskedRollout } from '../../rollout/serving-rollouts.ts';

/** Throws a Fault. */
export function rolloutTold(asked: AskedRollout): RolloutTold {
  switch (asked.kind) {
    case 'rolled':
      return asked;
    case 'failed':
      return { kind: 'failed', reason: asked.cause.reason, detail: asked.cause.detail };
    case 'pending':
      return { kind: 'pending', detail: waitsFor[asked.why] };
    case 'refused':
      throw refusal(asked.why);
  }
}

function refusal(why: Extract<AskedRollout, { readonly kind: 'refused' }>['why']): Fault {
  switch (why) {
    case 'shutdown':
      return new Fault('draining', 'the instance is shutting down');
    case 'former':
      return new Fault('unavailable', 'another version has just taken over; try again');
    case 'no_holder':
      return new Fault(
        'unavailable',
        'this instance runs without a process that could start another version: end it with: holdfast shutdown, then start it again',
      );
  }
}
