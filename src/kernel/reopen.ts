// How long to wait before a stream that should always stand is opened again: longer each time, but only
// briefly again after a stretch of health, because many servers and proxies end a stream now and then.

const firstReopenMs = 1_000;
/** A stream that lasted this long was healthy. */
const healthyMs = 30_000;

/** What is known when a stream has ended. */
export interface EndedStream {
  /** How long we waited before we opened it; 0 for the first. */
  readonly waitedMs: number;
  /** How long it stood; 0 if it was never there. */
  readonly lastedMs: number;
  /** How long the server wants us to wait. */
  readonly retryMs?: number | undefined;
}

export function reopenMs(
  { waitedMs, lastedMs, retryMs = 0 }: EndedStream,
  longestMs: number,
): number {
  const isFirst = waitedMs === 0 || lastedMs >= healthyMs;
  const ms = isFirst ? firstReopenMs : Math.min(waitedMs * 2, longestMs);
  return Math.max(ms, retryMs);
}
