// The claims of keys that this replica has made, each with a random name, and what has become of them: the answer to
// another replica that finds one in the store and wants to know whether to wait for it. A claim whose call has not run
// is withdrawn, also one that only may have been stored. It is taken away only as long as the key is of this claim,
// because another replica that was told of it may have the key by then.

import { randomBytes } from 'node:crypto';
import type { Clock } from '../kernel/clock.ts';
import type { ConditionalPut, RecordEntry, Records } from '../store/contract/records.ts';
import { StoreError } from '../store/store-error.ts';
import type { LaterChanges } from './later-changes.ts';
import { isStoredKey, type StoredKey } from './stored-key.ts';

/**
 * - `held`: its call runs, or its outcome is being stored
 * - `idle`: it has not run and never will; whoever wants the key may have it
 * - `none`: nothing is known of it here, and nobody works on it
 */
export type ClaimState = 'held' | 'idle' | 'none';

export interface KeyClaimsParts {
  readonly keys: Records;
  readonly clock: Clock;
  readonly later: LaterChanges;
}

/** So long a change that was not acknowledged may still arrive. */
const lateMs = 60_000;
/** For a change that takes a value away. */
const atOnceMs = 1;

export class KeyClaims {
  readonly #parts: KeyClaimsParts;
  /** Until they have ended: at most the running calls, and what `LaterChanges` tries again. */
  readonly #states = new Map<string, 'held' | 'idle'>();
  /** Those of calls that run, by slot: bounded by the queues and slots of their servers. */
  readonly #bySlot = new Map<string, string>();

  constructor(parts: KeyClaimsParts) {
    this.#parts = parts;
  }

  /** Before it is stored, so that it is known when it is found. */
  begin(): string {
    const claim = randomBytes(12).toString('hex');
    this.#states.set(claim, 'held');
    return claim;
  }

  /** The key is ours, and its call runs. */
  hold(slot: string, claim: string): void {
    this.#bySlot.set(slot, claim);
  }

  isHeld(slot: string, claim: string): boolean {
    return this.#bySlot.get(slot) === claim;
  }

  /** Its call does not run any more. */
  letGo(slot: string): string | undefined {
    const claim = this.#bySlot.get(slot);
    this.#bySlot.delete(slot);
    return claim;
  }

  /** The store says what has become of it, or never will. */
  end(claim: string): void {
    this.#states.delete(claim);
  }

  stateOf(claim: string): ClaimState {
    return this.#states.get(claim) ?? 'none';
  }

  get size(): number {
    return this.#states.size;
  }

  /** After a claim that is not known to be kept: it may be there, and then it is ours. If that cannot be said, it is withdrawn. */
  async readBack(slot: string, claim: string, error: unknown): Promise<ConditionalPut> {
    if (!(error instanceof StoreError) || error.reason !== 'not_kept') {
      this.end(claim);
      throw error;
    }
    const entry = await this.#parts.keys.get(slot).catch(() => undefined);
    if (isOf(entry, claim)) return { isPut: true, version: entry.version };
    this.#states.set(claim, 'idle');
    this.#withdrawLater(slot, claim);
    throw error;
  }

  /** Its call has not run. Rejects with a StoreError if the key is not free yet. */
  async withdraw(slot: string, claim: string): Promise<void> {
    this.#states.set(claim, 'idle');
    try {
      await this.#takeAway(slot, claim);
      this.end(claim);
    } catch (error) {
      this.#withdrawLater(slot, claim);
      throw error;
    }
  }

  #withdrawLater(slot: string, claim: string): void {
    const { clock, later } = this.#parts;
    const surelyAt = clock.now() + lateMs;
    const withdraw = async () => {
      if (await this.#takeAway(slot, claim)) return;
      if (clock.now() < surelyAt) throw new StoreError('not_kept', 'it may still arrive');
    };
    const over = () => this.end(claim);
    if (!later.add(withdraw, over)) over();
  }

  /** Whether it was there. */
  async #takeAway(slot: string, claim: string): Promise<boolean> {
    const { keys } = this.#parts;
    const entry = await keys.get(slot);
    if (!isOf(entry, claim)) return false;
    const withdrawn = { ...entry.value, state: 'withdrawn' };
    await keys.compareAndSet(slot, entry.version, withdrawn, { ttlMs: atOnceMs });
    return true;
  }
}

/** Whether this is the key of a call that this claim is for. */
function isOf(
  entry: RecordEntry | undefined,
  claim: string,
): entry is RecordEntry & { readonly value: StoredKey } {
  if (!isStoredKey(entry?.value)) return false;
  return entry.value.state === 'begun' && entry.value.claim === claim;
}
