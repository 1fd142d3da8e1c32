// The levels of log lines, from the most to the least talkative, and which of them a client hears.

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

/** Does a client that asked for `from` hear a line of this level? An unknown level is heard. */
export function isHeard(level: string | undefined, from: string): boolean {
  const rank = ranks.get(level ?? '') ?? Number.POSITIVE_INFINITY;
  return rank >= (ranks.get(from) ?? 0);
}
