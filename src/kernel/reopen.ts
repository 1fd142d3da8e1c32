// How long to wait before a permanent stream is opened again: longer each time, but only briefly
// after it was healthy for a while, because many servers and proxies end a stream from time to
// time.

import { backoffMs } from './backoff.ts';

const firstReopenMs = 1_000;
/** A stream that lasted this long was healthy. */
const healthyMs = 30_000;

/** What is known about a stream that has ended. */
export interface EndedStream {
  /** How long we waited before we opened it; 0 for the first. */
  readonly waitedMs: number;
  /** How long it was open; 0 if it was never open. */
  readonly lastedMs: number;
  /** The delay that the server asked for. */
  readonly retryMs?: number | undefined;
}

export function reopenMs(
  { waitedMs, lastedMs, retryMs = 0 }: EndedStream,
  longestMs: number,
): number {
  const isFirst = waitedMs === 0 || lastedMs >= healthyMs;
  const ms = isFirst ? firstReopenMs : backoffMs({ firstMs: waitedMs, longestMs }, 1);
  return Math.max(ms, retryMs);
}
