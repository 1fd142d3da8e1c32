// When a list may start a server that has never answered it. Each client that asks for a list would
// start such a server again, and a failing server would soon have spent its restart budget without
// a single call. So lists wait longer after each consecutive failure, and leave half of the budget
// to calls. A pure decision; other code stores the attempts.

import { backoffMs } from '../../kernel/backoff.ts';

export interface ListAttempts {
  readonly failures: number;
  /** No list tries again before. */
  readonly nextAt: number;
}

export const noAttempts: ListAttempts = { failures: 0, nextAt: Number.NEGATIVE_INFINITY };

const pause = { firstMs: 1_000, longestMs: 300_000 };

export function failedAttempt({ failures }: ListAttempts, now: number): ListAttempts {
  return { failures: failures + 1, nextAt: now + backoffMs(pause, failures) };
}

/** What is left of how many restarts; null where there is no budget. */
export interface RestartBudget {
  readonly left: number | null;
  readonly max: number | null;
}

export function mayTry(attempts: ListAttempts, now: number, { left, max }: RestartBudget): boolean {
  if (attempts.failures === 0) return true;
  if (now < attempts.nextAt) return false;
  return left === null || max === null || left > max / 2;
}
