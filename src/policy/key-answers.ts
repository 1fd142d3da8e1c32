// The answers of calls with idempotency keys, as they are stored: results as bytes where that is possible, and as text
// otherwise. They are JSON in UTF-8, so that a text holds them to the byte.

import type { FaultRecord } from '../kernel/fault.ts';
import { asBuffer, isBytes } from '../store/contract/bytes.ts';
import type { Records } from '../store/contract/records.ts';
import { isAway } from '../store/read-again.ts';
import { StoreError } from '../store/store-error.ts';
import type { KeyedOutcome } from './idempotency.ts';
import { notReadNow } from './keyed-faults.ts';

type StoredAnswer = Uint8Array | { readonly text: string } | { readonly fault: FaultRecord };

/** Undefined if there is none to store. */
export function answerOf(outcome: KeyedOutcome, { takesBytes }: Records): StoredAnswer | undefined {
  if (outcome.kind === 'result')
    return takesBytes ? outcome.bytes : { text: outcome.bytes.toString('utf8') };
  return outcome.kind === 'fault' ? { fault: outcome.record } : undefined;
}

/** Of a key that says that there is one. */
export async function storedOutcome(answers: Records, slot: string): Promise<KeyedOutcome> {
  try {
    const entry = await answers.get(slot);
    const answer = entry?.value as StoredAnswer | undefined;
    if (answer === undefined) return { kind: 'dropped' };
    if (isBytes(answer)) return { kind: 'result', bytes: asBuffer(answer) };
    if ('text' in answer) return { kind: 'result', bytes: Buffer.from(answer.text) };
    return { kind: 'fault', record: answer.fault };
  } catch (error) {
    if (error instanceof StoreError && isAway(error)) throw notReadNow(error);
    // Encrypted with another key, or damaged: the call has run, and its answer is lost.
    if (error instanceof StoreError && error.reason === 'unreadable') return { kind: 'dropped' };
    throw error;
  }
}
