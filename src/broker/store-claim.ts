// Where the calls of an orchestrator's mailbox are remembered. A letter may come again, to another link of the mailbox;
// that it does not run twice is known from the store in which its call id is. So all links of a mailbox have to use one
// store. The first one claims the mailbox for its store; one with another store is refused while the first is there,
// and for a while after it has left: what it was handed may come again then. A pure decision; each broker keeps claims.

import { BrokerError } from './broker-error.ts';

export interface StoreClaim {
  /** The identity of a store. */
  readonly store: string;
  /** When a link that uses it was last there, in milliseconds of the broker. */
  readonly seenAt: number;
}

/** Twice as long as a letter of `proxy` lives. */
export const storeAwayMs = 120_000;

/** Whether a link with this store may have the mailbox now. */
export function mayClaim(claim: StoreClaim | undefined, store: string, now: number): boolean {
  if (claim === undefined || claim.store === store) return true;
  return now - claim.seenAt >= storeAwayMs;
}

/** Short, because it has to fit into the end of a WebSocket. */
export function otherStore(): BrokerError {
  return new BrokerError('other_store', 'another gateway of this name has a store of its own');
}
