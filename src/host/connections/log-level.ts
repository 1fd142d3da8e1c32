// The log levels, from the most to the least verbose, and which of them a client receives.

export const logLevels = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const;

const ranks: ReadonlyMap<string, number> = new Map(logLevels.map((level, rank) => [level, rank]));

export function isLogLevel(level: string): boolean {
  return ranks.has(level);
}

/**
 * Whether a client that asked for `from` receives a line of this level. An unknown level is
 * received.
 */
export function isHeard(level: string | undefined, from: string): boolean {
  const rank = ranks.get(level ?? '') ?? Number.POSITIVE_INFINITY;
  return rank >= (ranks.get(from) ?? 0);
}
