// Idempotency keys in memory, for a host without a durable store. The memory is bounded: when
// answers use too many bytes, the oldest answers are removed but their keys stay (a retry then ends
// in "unknown" and does not run again); when there are too many keys, a new one is refused before
// anything runs. A key is never removed before its time, because a removed key is a call that may
// run twice. Each principal may have only a part of the keys, so that it cannot use up those of the
// others.

import type { Clock } from '../kernel/clock.ts';
import { Fault } from '../kernel/fault.ts';
import type { KeyedRecord, KeyedStore } from './idempotency.ts';

export interface KeyedMemoryLimits {
  readonly maxKeys: number;
  readonly maxKeysPerPrincipal: number;
  /** Of answers; keys and fingerprints are small and bounded by `maxKeys`. */
  readonly maxBytes: number;
}

export const keyedMemoryLimits: KeyedMemoryLimits = {
  maxKeys: 65_536,
  maxKeysPerPrincipal: 49_152,
  maxBytes: 67_108_864,
};

interface Kept {
  readonly record: KeyedRecord;
  readonly expiresAt: number;
  readonly bytes: number;
}

export class KeyedMemory implements KeyedStore {
  readonly #clock: Clock;
  readonly #limits: KeyedMemoryLimits;
  // At most `maxKeys`, in the order of writing. All records are kept equally long, so this is the
  // order of expiry.
  readonly #kept = new Map<string, Kept>();
  // At most as many: those of them that still have an answer, oldest first.
  readonly #answers = new Set<string>();
  // How many each principal has; at most one for each key, and none is zero.
  readonly #owners = new Map<string, number>();
  #bytes = 0;

  constructor(clock: Clock, limits: KeyedMemoryLimits = keyedMemoryLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  get bytes(): number {
    return this.#bytes;
  }

  claim(slot: string, record: KeyedRecord, ttlMs: number): Promise<KeyedRecord | undefined> {
    this.#sweep();
    const kept = this.#kept.get(slot);
    if (kept !== undefined) return Promise.resolve(kept.record);
    const { maxKeys, maxKeysPerPrincipal } = this.#limits;
    const own = this.#owners.get(record.owner) ?? 0;
    if (own >= maxKeysPerPrincipal)
      return Promise.reject(full(maxKeysPerPrincipal, ' of this caller'));
    if (this.#kept.size >= maxKeys) return Promise.reject(full(maxKeys, ''));
    this.#write(slot, record, ttlMs);
    return Promise.resolve(undefined);
  }

  put(slot: string, record: KeyedRecord, ttlMs: number): Promise<void> {
    this.#sweep();
    this.#write(slot, record, ttlMs);
    this.#makeRoom();
    return Promise.resolve();
  }

  free(slot: string): Promise<void> {
    this.#forget(slot);
    return Promise.resolve();
  }

  #write(slot: string, record: KeyedRecord, ttlMs: number): void {
    const bytes = answerBytes(record);
    this.#forget(slot);
    this.#kept.set(slot, { record: owned(record), expiresAt: this.#clock.now() + ttlMs, bytes });
    this.#owners.set(record.owner, (this.#owners.get(record.owner) ?? 0) + 1);
    this.#bytes += bytes;
    if (bytes > 0) this.#answers.add(slot);
  }

  #forget(slot: string): void {
    const kept = this.#kept.get(slot);
    if (kept === undefined) return;
    this.#bytes -= kept.bytes;
    this.#kept.delete(slot);
    this.#answers.delete(slot);
    const { owner } = kept.record;
    const left = (this.#owners.get(owner) ?? 1) - 1;
    if (left > 0) this.#owners.set(owner, left);
    else this.#owners.delete(owner);
  }

  #sweep(): void {
    const now = this.#clock.now();
    for (const [slot, { expiresAt }] of this.#kept) {
      if (now < expiresAt) return;
      this.#forget(slot);
    }
  }

  #makeRoom(): void {
    for (const slot of this.#answers) {
      if (this.#bytes <= this.#limits.maxBytes) return;
      this.#answers.delete(slot);
      const kept = this.#kept.get(slot);
      if (kept === undefined) continue;
      const record: KeyedRecord = { ...kept.record, outcome: { kind: 'dropped' } };
      // Setting an existing slot keeps its place in the order.
      this.#kept.set(slot, { record, expiresAt: kept.expiresAt, bytes: 0 });
      this.#bytes -= kept.bytes;
    }
  }

  /** How much is stored. */
  get size(): { readonly keys: number; readonly principals: number } {
    return { keys: this.#kept.size, principals: this.#owners.size };
  }
}

function full(count: number, whose: string): Fault {
  return new Fault(
    'overloaded',
    `${count} idempotency keys${whose} are in use, each for 24 h; call without a key, or later`,
  );
}

function answerBytes({ outcome }: KeyedRecord): number {
  switch (outcome.kind) {
    case 'result':
      return outcome.bytes.length;
    case 'fault':
      return JSON.stringify(outcome.record).length;
    default:
      return 0;
  }
}

/** A result is often a slice of a much larger frame. A copy lets the frame be freed. */
function owned(record: KeyedRecord): KeyedRecord {
  if (record.outcome.kind !== 'result') return record;
  const bytes = Buffer.allocUnsafeSlow(record.outcome.bytes.length);
  record.outcome.bytes.copy(bytes);
  return { ...record, outcome: { kind: 'result', bytes } };
}
