// The callers' own book: every call that was made, with what it asked for and the one answer it got.
// Together with the servers' ledger it is what the rules about calls are judged by.

import type { Fault } from '../../src/kernel/fault.ts';

export type ToolName = 'read' | 'write' | 'set';

export interface Plan {
  readonly server: string;
  readonly tool: ToolName;
  /** Travels in the arguments, stands in the ledger, comes back in the result. */
  readonly nonce: string;
  /** Several calls use this nonce on purpose: to meet in the cache, or under an idempotency key. */
  readonly isShared: boolean;
  readonly key: string | undefined;
  readonly timeoutMs: number | undefined;
}

export type Ending =
  | { readonly kind: 'result'; readonly nonce: unknown }
  | { readonly kind: 'fault'; readonly fault: Fault }
  /** Something that is not a fault was thrown. */
  | { readonly kind: 'defect'; readonly thrown: unknown };

export interface CallRecord {
  readonly plan: Plan;
  readonly number: number;
  readonly begunAt: number;
  readonly begunStep: number;
  /** The step in which its caller gave up; undefined if it did not. */
  gaveUpInStep: number | undefined;
  /** Its server reported progress, which extends its time. */
  hasProgressed: boolean;
  ended: { readonly at: number; readonly step: number; readonly ending: Ending } | undefined;
}

export class CallBook {
  readonly open = new Set<CallRecord>();
  readonly #byNonce = new Map<string, CallRecord[]>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  begin(plan: Plan, at: number, step: number): CallRecord {
    this.#count += 1;
    const record: CallRecord = {
      plan,
      number: this.#count,
      begunAt: at,
      begunStep: step,
      gaveUpInStep: undefined,
      hasProgressed: false,
      ended: undefined,
    };
    this.open.add(record);
    const known = this.#byNonce.get(plan.nonce);
    if (known) known.push(record);
    else this.#byNonce.set(plan.nonce, [record]);
    return record;
  }

  of(nonce: string): readonly CallRecord[] {
    return this.#byNonce.get(nonce) ?? [];
  }

  all(): readonly CallRecord[] {
    return [...this.#byNonce.values()].flat();
  }
}
