// Idempotency keys on the records of any store: the contract of the keys needs nothing that records do not
// have. The host keeps its keys in `KeyedMemory` as long as it has no durable store for them: that one
// keeps results as bytes, gives each principal a share, and drops old answers without their keys.

import type { FaultRecord } from '../../src/kernel/fault.ts';
import type { KeyedOutcome, KeyedRecord, KeyedStore } from '../../src/policy/idempotency.ts';
import type { Records } from '../../src/store/contract/records.ts';

type WrittenOutcome =
  | Exclude<KeyedOutcome, { readonly kind: 'result' | 'fault' }>
  | { readonly kind: 'fault'; readonly record: FaultRecord }
  /** Results are JSON text in UTF-8, so a text holds them to the byte. */
  | { readonly kind: 'result'; readonly text: string };

interface Written extends Omit<KeyedRecord, 'outcome'> {
  readonly outcome: WrittenOutcome;
}

export function keyedRecords(records: Records): KeyedStore {
  return {
    async claim(slot, record, ttlMs) {
      const put = await records.putIfAbsent(slot, written(record), { ttlMs });
      return put.isPut ? undefined : readBack(put.entry?.value as Written);
    },
    async put(slot, record, ttlMs) {
      await records.put(slot, written(record), { ttlMs });
    },
    free: (slot) => records.remove(slot),
  };
}

function written({ outcome, ...rest }: KeyedRecord): Written {
  if (outcome.kind !== 'result') return { ...rest, outcome };
  return { ...rest, outcome: { kind: 'result', text: outcome.bytes.toString('utf8') } };
}

function readBack({ outcome, ...rest }: Written): KeyedRecord {
  if (outcome.kind !== 'result') return { ...rest, outcome };
  return { ...rest, outcome: { kind: 'result', bytes: Buffer.from(outcome.text) } };
}
