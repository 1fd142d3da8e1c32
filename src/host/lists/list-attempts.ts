// When a list may start a server that has never given it. Each client that asks for a list would start
// such a server once more, and a server that fails would soon have spent its restart budget without
// having been called once. So lists wait longer after each failure in a row, and leave half of the
// budget to calls. A pure decision; who keeps the attempts is left to others.

export interface ListAttempts {
  readonly failures: number;
  /** No list tries again before. */
  readonly nextAt: number;
}

export const noAttempts: ListAttempts = { failures: 0, nextAt: Number.NEGATIVE_INFINITY };

const firstPauseMs = 1_000;
const longestPauseMs = 300_000;

export function failedAttempt({ failures }: ListAttempts, now: number): ListAttempts {
  const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** failures);
  return { failures: failures + 1, nextAt: now + pauseMs };
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
