// Idempotency keys kept in memory, for a host without a durable store. It is bounded, and it keeps
// its word for as long as the record lives: when answers take too many bytes, the oldest answers
// go but their keys stay (a retry then hears "unknown" and does not run again); when there are too
// many keys, a new one is refused before anything runs. Nothing that is still in its time is ever
// forgotten, because a forgotten key is a call that may run twice.

import type { Clock } from '../kernel/clock.ts';
import { Fault } from '../kernel/fault.ts';
import type { KeyedRecord, KeyedStore } from './idempotency.ts';

export interface KeyedMemoryLimits {
  readonly maxKeys: number;
  /** Of answers; keys and fingerprints are small and bounded by `maxKeys`. */
  readonly maxBytes: number;
}

export const keyedMemoryLimits: KeyedMemoryLimits = { maxKeys: 65_536, maxBytes: 67_108_864 };

interface Kept {
  readonly record: KeyedRecord;
  readonly expiresAt: number;
  readonly bytes: number;
}

export class KeyedMemory implements KeyedStore {
  readonly #clock: Clock;
  readonly #limits: KeyedMemoryLimits;
  // In the order of writing. All records are kept equally long, so this is the order of expiry.
  readonly #kept = new Map<string, Kept>();
  // Those of them that still have an answer, oldest first.
  readonly #answers = new Set<string>();
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
    if (this.#kept.size >= this.#limits.maxKeys) return Promise.reject(this.#full());
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
    this.#bytes += bytes;
    if (bytes > 0) this.#answers.add(slot);
  }

  #forget(slot: string): void {
    this.#bytes -= this.#kept.get(slot)?.bytes ?? 0;
    this.#kept.delete(slot);
    this.#answers.delete(slot);
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

  #full(): Fault {
    return new Fault(
      'overloaded',
      `${this.#limits.maxKeys} idempotency keys are in use, each for 24 h; call without a key, or set "store" to "sqlite"`,
    );
  }
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

/** A result is often a slice of a much larger frame, which must not live on for its sake. */
function owned(record: KeyedRecord): KeyedRecord {
  if (record.outcome.kind !== 'result') return record;
  const bytes = Buffer.allocUnsafeSlow(record.outcome.bytes.length);
  record.outcome.bytes.copy(bytes);
  return { ...record, outcome: { kind: 'result', bytes } };
}
