// A counter: how much may be taken in a span of time, for each key by itself. A window begins with the
// first take and ends `windowMs` later; the next take begins another. Within one window never more than
// the limit is taken, however many take at once. (So at the border of two windows up to twice the limit
// may be taken in `windowMs`.) The limit is told with each take, because it comes from a config that may
// change: what was taken so far counts against the new one.

import type { Durability } from './durability.ts';

export interface Window {
  readonly limit: number;
  /** Null: it never ends, only `reset` begins anew. */
  readonly windowMs: number | null;
}

export type Taken =
  | { readonly isTaken: true; readonly left: number }
  /** Nothing was taken. `retryAfterMs` is null where waiting does not help. */
  | { readonly isTaken: false; readonly left: number; readonly retryAfterMs: number | null };

export interface Counter {
  /**
   * All or nothing; 0 takes nothing and tells what is left. Resolved, durable: it counts after a crash,
   * too. Rejected with `not_kept`: it may count or not, so whoever goes on may exceed the limit by it.
   */
  take(key: string, amount: number, window: Window): Promise<Taken>;

  /** Ends the key's window. */
  reset(key: string): Promise<void>;
}

export interface CounterOptions {
  readonly durability: Durability;
  /**
   * Beyond this many keys with a window that has not ended a new one is rejected (`full`); a forgetful
   * counter forgets the one whose window began first.
   */
  readonly maxEntries?: number;
}
