// The errors of a store, typed by `reason`. A StoreError is a fault, so that one that reaches a
// caller is a row of the fault table: a store that is full or whose disk fails is a resource
// shortage of the host (`overloaded`), which does not trip a breaker. What only a defect can cause
// (an invalid name or value) is a TypeError instead.

import { Fault, type FaultCode } from '../kernel/fault.ts';

const faultCodes = {
  /** It may be missing after a crash; read again to find out whether it is there now. */
  not_kept: 'overloaded',
  /** Its bound is reached; nothing has changed. */
  full: 'overloaded',
  /** One value alone is larger than this store keeps; nothing has changed. */
  too_large: 'invalid_request',
  /** It is there and cannot be read now. */
  unreadable: 'overloaded',
  /**
   * The lease has ended, or the claim was acknowledged or given back: another worker may have the
   * item.
   */
  lost_claim: 'conflict',
  /** This store does not offer it, or not with that durability. Thrown when it is opened. */
  unsupported: 'internal',
  closed: 'draining',
} as const satisfies Record<string, FaultCode>;

export type StoreRefusal = keyof typeof faultCodes;

/** Whether this is one, of this version. */
export function isStoreRefusal(value: unknown): value is StoreRefusal {
  return typeof value === 'string' && Object.hasOwn(faultCodes, value);
}

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

/** `what` is records, log, queue or counter, with the requested durability. */
export function unsupported(store: string, what: string): StoreError {
  return new StoreError('unsupported', `${store} has no ${what}`);
}
