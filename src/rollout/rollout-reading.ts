// The state of rollouts as it is shown: one word, its cause in one line, and since when.

import { obstacle, printOf } from './rollout-machine.ts';
import type { PendingReason, RolloutMachineState, RolloutPolicy } from './rollout-state.ts';

export interface ShownRollout {
  readonly phase: 'stable' | 'pending' | 'running' | 'failed';
  readonly cause: string | null;
  /** Monotonic; null: it is not known. */
  readonly at: number | null;
}

export const waitsFor: Readonly<Record<PendingReason, string>> = {
  starting: 'this instance is still starting',
  formers: 'too many processes of versions before are still ending their work',
  settling: 'the installed files are being written, or some are missing',
  running: 'a rollout is running',
};

/** `hasChanged`: the files are others than those that run, where nobody follows them. */
export function shownRollout(
  state: RolloutMachineState,
  policy: RolloutPolicy,
  hasChanged: boolean,
): ShownRollout {
  const { phase, waiting, files, failed } = state;
  if (phase.kind === 'former') return { phase: 'running', cause: null, at: null };
  if (phase.kind !== 'idle') return { phase: 'running', cause: null, at: phase.run.since };
  if (files.kind === 'unreadable') {
    const cause = `the installed files cannot be looked at (${files.cause})`;
    return { phase: 'failed', cause, at: null };
  }
  if (waiting !== null) {
    const why = obstacle(state, policy);
    return { phase: 'pending', cause: why ? waitsFor[why] : null, at: waiting.since };
  }
  const isOfThese = failed !== null && failed.print === printOf(files);
  if (failed !== null && isOfThese && files.kind !== 'settling') {
    return { phase: 'failed', cause: failed.cause.detail, at: failed.at };
  }
  if (files.kind === 'settling') return { phase: 'pending', cause: waitsFor.settling, at: null };
  if (files.kind === 'same' && !hasChanged) return { phase: 'stable', cause: null, at: null };
  const remedy = policy.isAuto ? '' : '; to go over to it: holdfast rollout';
  return { phase: 'pending', cause: `another version is installed${remedy}`, at: null };
}
