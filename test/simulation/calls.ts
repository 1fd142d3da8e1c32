// The callers' own book: every call that was made, with what it asked for and the one answer it got.
// Together with the servers' ledger it is what the rules about calls are judged by.

import type { Fault } from '../../src/kernel/fault.ts';
import type { Principal } from '../../src/policy/principal.ts';
import type { ProcessRules } from './process-rules.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** `secret` is hidden by every config: to everybody it does not exist. */
export type ToolName = 'read' | 'write' | 'set' | 'secret';

export interface Plan {
  readonly principal: Principal;
  readonly server: string;
  readonly tool: ToolName;
  /** Travels in the arguments, stands in the ledger, comes back in the result. */
  readonly nonce: string;
  /** Several calls use this nonce on purpose: to meet in the cache, or under an idempotency key. */
  readonly isShared: boolean;
  readonly key: string | undefined;
  /** It was asked of an earlier process under this key, and is asked once more. */
  readonly isRepeated?: boolean;
  /** How long the tool is asked to take, beyond what it takes anyway. */
  readonly workMs: number;
  readonly timeoutMs: number | undefined;
}

/** What a result says it is the result of. */
export interface Echo {
  readonly nonce?: unknown;
  readonly server?: unknown;
  readonly tool?: unknown;
  readonly run?: unknown;
}

export type Ending =
  | { readonly kind: 'result'; readonly echo: Echo }
  | { readonly kind: 'fault'; readonly fault: Fault }
  /** Something that is not a fault was thrown. */
  | { readonly kind: 'defect'; readonly thrown: unknown }
  /** The host was killed under it. */
  | { readonly kind: 'bereft' };

/** What is so in the moment in which a call is made, and decides how it must end. */
export interface Standing {
  /** The guard lets this principal call this tool. */
  readonly isAllowed: boolean;
  /** By the config: to everybody it does not exist. Undefined while that changes. */
  readonly isHidden: boolean | undefined;
  /** Its budget has nothing left for it; undefined if it would not be charged, or has none. */
  readonly isOverBudget: boolean | undefined;
  /** Which definition of the server's tools the host knows; 0 for none. */
  readonly definition: number;
}

export interface CallRecord {
  readonly plan: Plan;
  readonly standing: Standing;
  /** The process of the host that it was made to. */
  readonly process: ProcessRules;
  readonly number: number;
  readonly begunAt: number;
  readonly begunStep: number;
  /** How often the wall clock had been set forward by a day or more. */
  readonly leaps: number;
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

  begin(
    plan: Plan,
    standing: Standing,
    clock: VirtualClock,
    step: number,
    process: ProcessRules,
  ): CallRecord {
    this.#count += 1;
    const record: CallRecord = {
      plan,
      standing,
      process,
      number: this.#count,
      begunAt: clock.now(),
      begunStep: step,
      leaps: clock.leaps,
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

  *all(): Iterable<CallRecord> {
    for (const records of this.#byNonce.values()) yield* records;
  }
}

export function describe({ number, plan, begunAt }: CallRecord): string {
  const { principal, server, tool, nonce, key } = plan;
  const under = key === undefined ? '' : ` key ${key}`;
  return `call ${number} by ${principal.id} of ${server}/${tool} (${nonce}${under}, begun at ${begunAt})`;
}
