// The restart budget and the backoff as a pure state machine. A failure of a process or connection
// counts for a sliding window; one more than the budget ejects the server until it is reloaded. The
// delay before the next start doubles with each consecutive failure, with jitter, and is reset
// after a healthy period: health shortens the delay, never the window.

import { backoffMs } from '../kernel/backoff.ts';

export interface RestartPolicy {
  /** How many failures are allowed in the window; null: never eject (remote servers). */
  readonly max: number | null;
  readonly windowMs: number;
  readonly minDelayMs: number;
  readonly maxDelayMs: number;
  /** Ready for this long, a server counts as healthy again and the delay starts over. */
  readonly healthyMs: number;
}

export interface RestartState {
  /** When the failures inside the window happened, oldest first. */
  readonly failures: readonly number[];
  /** Failures since the last healthy period: the exponent of the delay. */
  readonly streak: number;
  readonly ejected: boolean;
  /**
   * When a start failed for a resource shortage of the host, within the window; not charged to the
   * server.
   */
  readonly shortages: readonly number[];
}

export type RestartEvent =
  | {
      readonly kind: 'failed';
      readonly at: number;
      /** How long it had been ready before it failed; 0 for a failed start. */
      readonly readyMs: number;
      /** Uniform in [0, 1): the jitter. */
      readonly random: number;
    }
  /**
   * A start failed for a resource shortage of the host: it is tried again later, and the budget is
   * not used.
   */
  | { readonly kind: 'shortage'; readonly at: number; readonly random: number }
  | { readonly kind: 'reset' };

export type RestartEffect =
  | { readonly kind: 'restart-after'; readonly delayMs: number }
  | { readonly kind: 'eject' };

export const freshRestarts: RestartState = {
  failures: [],
  streak: 0,
  ejected: false,
  shortages: [],
};

export function restartStep(
  state: RestartState,
  event: RestartEvent,
  policy: RestartPolicy,
): readonly [RestartState, readonly RestartEffect[]] {
  if (event.kind === 'reset') return [freshRestarts, []];
  if (state.ejected) return [state, []];
  if (event.kind === 'shortage') return shortage(state, event, policy);
  const failures = [...withinWindow(state, event.at, policy), event.at];
  const streak = event.readyMs >= policy.healthyMs ? 1 : state.streak + 1;
  if (policy.max !== null && failures.length > policy.max) {
    return [{ ...state, failures, streak, ejected: true }, [{ kind: 'eject' }]];
  }
  const delayMs = delayAfter(streak, event.random, policy);
  return [{ ...state, failures, streak }, [{ kind: 'restart-after', delayMs }]];
}

function shortage(
  state: RestartState,
  event: { readonly at: number; readonly random: number },
  policy: RestartPolicy,
): readonly [RestartState, readonly RestartEffect[]] {
  const recent = state.shortages.filter((at) => event.at - at <= policy.windowMs);
  const shortages = [...recent, event.at];
  const delayMs = delayAfter(shortages.length, event.random, policy);
  return [{ ...state, shortages }, [{ kind: 'restart-after', delayMs }]];
}

/** The failures that still count at a given time; one exactly as old as the window does. */
export function withinWindow(
  state: RestartState,
  at: number,
  policy: RestartPolicy,
): readonly number[] {
  return state.failures.filter((failedAt) => at - failedAt <= policy.windowMs);
}

/** How many more failures are allowed in the window; null without a budget. */
export function restartsLeft(
  state: RestartState,
  at: number,
  policy: RestartPolicy,
): number | null {
  if (policy.max === null) return null;
  return Math.max(0, policy.max - withinWindow(state, at, policy).length);
}

/** `streak`: failures in a row. */
function delayAfter(streak: number, random: number, policy: RestartPolicy): number {
  const { minDelayMs: firstMs, maxDelayMs: longestMs } = policy;
  return backoffMs({ firstMs, longestMs }, streak - 1, random);
}
