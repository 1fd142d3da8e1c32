// A queue: items that are processed once each, by the worker that claims them. A claim is a lease:
// until it ends no other worker gets the item. A worker that has done the work acknowledges it, and
// the item is removed; if the lease ends first, the next worker gets the item, with a higher
// attempt count. So an item may be processed more than once, but its lease has one holder at a
// time: every operation with a claim that is over, because its lease ended or it was acknowledged
// or given back, is refused (`lost_claim`), so that an old holder cannot act for its successor.
// Items come in the order in which they were put; items that were given back or whose lease ended
// come as soon as they are free again.

import type { Unforgetful } from './durability.ts';

export interface Claim {
  /** Identifies this claim, not the item: the next claim of the same item has another. */
  readonly id: string;
  readonly value: unknown;
  /** 1 for the first claim of the item. */
  readonly attempt: number;
  /** When the lease ends, on `Clock.now`. */
  readonly until: number;
}

export interface QueuePutOptions {
  /** Not to be claimed before this time has passed. */
  readonly delayMs?: number;
}

export interface Queue {
  /**
   * Resolved, durable: the item survives any crash until it is acknowledged. Rejected with
   * `not_kept`: it may or may not be stored.
   */
  put(value: unknown, options?: QueuePutOptions): Promise<void>;

  /** Undefined when nothing can be claimed now. After a crash the item is free when its lease has ended. */
  claim(leaseMs: number): Promise<Claim | undefined>;

  /**
   * The work is done. Resolved, durable: no worker gets the item again, also after a crash.
   * Rejected with `not_kept`: a worker may get it again.
   */
  ack(claimId: string): Promise<void>;

  /** Frees the item, now or after a delay. */
  giveBack(claimId: string, options?: QueuePutOptions): Promise<void>;

  /** Extends the lease to this long from now; resolves to the new end, on `Clock.now`. */
  extend(claimId: string, leaseMs: number): Promise<number>;

  /** How many items are not acknowledged yet, claimed or not. */
  size(): Promise<number>;
}

export interface QueueOptions {
  readonly durability: Unforgetful;
  /** Beyond this many a put is rejected (`full`). */
  readonly maxEntries?: number;
}
