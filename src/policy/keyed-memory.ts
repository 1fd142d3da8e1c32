// Idempotency keys in memory, for a host without a durable store. keyed-index.ts bounds it: of a key whose
// answer was removed, a retry ends in "unknown" and does not run again.

import type { Clock } from '../kernel/clock.ts';
import type { KeyedRecord, KeyedStore } from './idempotency.ts';
import { KeyedIndex, type KeyedLimits } from './keyed-index.ts';

export class KeyedMemory implements KeyedStore {
  readonly #clock: Clock;
  readonly #index: KeyedIndex;
  /** At most as many as the index has slots. */
  readonly #records = new Map<string, KeyedRecord>();

  constructor(clock: Clock, limits?: KeyedLimits) {
    this.#clock = clock;
    this.#index = new KeyedIndex(limits);
  }

  get bytes(): number {
    return this.#index.bytes;
  }

  claim(slot: string, record: KeyedRecord, ttlMs: number): Promise<KeyedRecord | undefined> {
    this.#sweep();
    const kept = this.#records.get(slot);
    if (kept !== undefined) return Promise.resolve(kept);
    try {
      this.#index.assertRoomFor(record.owner, this.#clock.now());
    } catch (fault) {
      return Promise.reject(fault);
    }
    this.#write(slot, record, ttlMs);
    return Promise.resolve(undefined);
  }

  put(slot: string, record: KeyedRecord, ttlMs: number): Promise<void> {
    this.#sweep();
    this.#write(slot, record, ttlMs);
    for (const dropped of this.#index.dropAnswers()) {
      const kept = this.#records.get(dropped);
      if (kept) this.#records.set(dropped, { ...kept, outcome: { kind: 'dropped' } });
    }
    return Promise.resolve();
  }

  free(slot: string): Promise<void> {
    this.#index.forget(slot);
    this.#records.delete(slot);
    return Promise.resolve();
  }

  #write(slot: string, record: KeyedRecord, ttlMs: number): void {
    this.#index.wrote(slot, record.owner, answerBytes(record), this.#clock.now() + ttlMs);
    this.#records.set(slot, owned(record));
  }

  #sweep(): void {
    for (const slot of this.#index.sweep(this.#clock.now())) this.#records.delete(slot);
  }

  /** How much is stored. */
  get size(): { readonly keys: number; readonly principals: number } {
    return this.#index.size;
  }
}

export function answerBytes({ outcome }: KeyedRecord): number {
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
