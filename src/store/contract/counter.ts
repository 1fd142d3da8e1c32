// A counter limits how much may be taken in a span of time, separately for each key. A window
// begins with the first take and ends `windowMs` later; the next take begins another. Within one
// window never more than the limit is taken, however many callers take at once. (So around the end
// of a window up to twice the limit may be taken in `windowMs`.) The limit is an argument of each
// take, because it comes from a config that may change: what was taken so far counts against the
// new limit.

import type { Durability } from './durability.ts';

export interface Window {
  readonly limit: number;
  /** Null: it never ends; only `reset` begins a new window. */
  readonly windowMs: number | null;
}

export type Taken =
  | { readonly isTaken: true; readonly left: number }
  /** Nothing was taken. `retryAfterMs` is null where waiting does not help. */
  | { readonly isTaken: false; readonly left: number; readonly retryAfterMs: number | null };

export interface Counter {
  /**
   * All or nothing; 0 takes nothing and returns what is left. Resolved, durable: it counts after a
   * crash, too. Rejected with `not_kept`: it may or may not count, so a caller that continues may
   * exceed the limit by it.
   */
  take(key: string, amount: number, window: Window): Promise<Taken>;

  /** Ends the key's window. */
  reset(key: string): Promise<void>;
}

export interface CounterOptions {
  readonly durability: Durability;
  /**
   * When this many keys have an open window, a new key is rejected (`full`); a forgetful counter
   * drops the key whose window began first.
   */
  readonly maxEntries?: number;
}

/** Anything else is a defect of the caller. */
export function assertAmounts(amount: number, limit: number, windowMs: number | null): void {
  const isCount = (value: number) => Number.isSafeInteger(value) && value >= 0;
  if (!isCount(amount)) throw new TypeError(`${amount} is not an amount to take`);
  if (!isCount(limit)) throw new TypeError(`${limit} is not a limit`);
  if (windowMs !== null && !(windowMs > 0)) throw new TypeError(`${windowMs} ms is not a window`);
}
