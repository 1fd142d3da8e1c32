// What a store refuses, typed by `reason`. It is a fault, so that one that reaches a caller is a row of the
// fault table like any other: a store that is full or whose disk fails is a shortage of our own
// (`overloaded`), which trips no breaker. What only a defect can cause (a name or a value that no store
// takes) is a TypeError instead.

import { Fault, type FaultCode } from '../kernel/fault.ts';

const faultCodes = {
  /** It may not be there after a crash; whether it is there now has to be read. */
  not_kept: 'overloaded',
  /** Its bound is reached; nothing has changed. */
  full: 'overloaded',
  /** One value alone is larger than this store keeps; nothing has changed. */
  too_large: 'invalid_request',
  /** It is there and cannot be read now. */
  unreadable: 'overloaded',
  /** The lease has ended, or the claim was acknowledged or given back: somebody else may have the item. */
  lost_claim: 'conflict',
  /** This store does not have it, or not with that durability. Thrown when it is opened. */
  unsupported: 'internal',
  closed: 'draining',
} as const satisfies Record<string, FaultCode>;

export type StoreRefusal = keyof typeof faultCodes;

export class StoreError extends Fault {
  readonly reason: StoreRefusal;

  constructor(reason: StoreRefusal, detail: string, cause?: unknown) {
    super(faultCodes[reason], detail, {}, cause);
    this.reason = reason;
  }
}

export function storeClosed(): StoreError {
  return new StoreError('closed', 'the store is closed');
}

/** `what` is one of the store's words, with the durability that was asked for. */
export function unsupported(store: string, what: string): StoreError {
  return new StoreError('unsupported', `${store} has no ${what}`);
}
