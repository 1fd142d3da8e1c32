// Durations that come from outside, in milliseconds. A timer of the runtime can wait at most 2^31 -
// 1 ms and fires at once beyond that, so longer durations are reduced. A value that is not a
// duration is refused where it enters, before it can become a timer that fires at once.

import { Fault } from './fault.ts';

/** Nearly 25 days. */
export const longestTimerMs = 2_147_483_647;

/**
 * Longer durations, including Infinity, become the longest. Throws `invalid_request` for a value
 * that is not a duration.
 */
export function durationFrom(ms: unknown, option: string): number {
  if (typeof ms === 'number' && ms > 0) return Math.min(ms, longestTimerMs);
  const given = typeof ms === 'number' ? String(ms) : `a ${typeof ms}`;
  throw new Fault(
    'invalid_request',
    `${option} must be a number of milliseconds above 0, this is ${given}`,
  );
}
