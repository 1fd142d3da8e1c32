// How long to wait before something that failed is tried again: twice as long each time, up to a
// maximum, with jitter where many would otherwise retry at the same time.

export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

// Jitter only shortens the delay: the maximum is never exceeded, and fifty servers that died
// together do not start together.
const jitterShare = 0.2;

/** After the first failure and `repeats` more in a row. `random`, in [0, 1), adds jitter. */
export function backoffMs({ firstMs, longestMs }: Backoff, repeats: number, random = 0): number {
  const doubled = firstMs * 2 ** Math.min(repeats, 30);
  return Math.round(Math.min(doubled, longestMs) * (1 - jitterShare * random));
}
