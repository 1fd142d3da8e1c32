// A queue: items that are worked off once each, by whoever claims them. A claim is a lease: until it ends
// nobody else gets the item; whoever has done the work acknowledges it and the item is gone; if the lease
// ends first, the item goes to the next who claims, with a higher attempt count. So an item may be worked
// on more than once, but its lease has one holder at a time: every word of a claim that is over, because
// its lease ended or it was acknowledged or given back, is refused (`lost_claim`), so that an old holder
// cannot act for its successor. Items come in the order in which they were put, those that were given
// back or whose lease ended as soon as they are free again.

import type { Unforgetful } from './durability.ts';

export interface Claim {
  /** Names this claim, not the item: the next claim of the same item has another. */
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
   * Resolved, durable: the item is claimed by somebody after any crash, until it is acknowledged.
   * Rejected with `not_kept`: it may be there or not.
   */
  put(value: unknown, options?: QueuePutOptions): Promise<void>;

  /** Undefined when nothing can be claimed now. After a crash the item is free when its lease has ended. */
  claim(leaseMs: number): Promise<Claim | undefined>;

  /**
   * The work is done. Resolved, durable: nobody gets the item again, also after a crash. Rejected with
   * `not_kept`: somebody may get it again.
   */
  ack(claimId: string): Promise<void>;

  /** Frees the item, now or after a delay. */
  giveBack(claimId: string, options?: QueuePutOptions): Promise<void>;

  /** The lease ends so long from now; resolves to the new end, on `Clock.now`. */
  extend(claimId: string, leaseMs: number): Promise<number>;

  /** How many items are not acknowledged yet, claimed or not. */
  size(): Promise<number>;
}

export interface QueueOptions {
  readonly durability: Unforgetful;
  /** Beyond this many a put is rejected (`full`). */
  readonly maxEntries?: number;
}
