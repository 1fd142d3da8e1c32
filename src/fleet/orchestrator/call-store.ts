// The identity of the store in which an orchestrator remembers the call ids of workers: a random word in the store itself.
// Gateways that share a store have the same one, and the next process of a gateway has it, too. A store that cannot be
// used has none: a call that must not run twice is refused then.

import { randomBytes } from 'node:crypto';
import type { Records } from '../../store/contract/records.ts';
import { StoreError } from '../../store/store-error.ts';

const key = 'id';

export function isStoreIdentity(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{32}$/.test(value);
}

/** Undefined while it cannot be read or made. */
export async function storeIdentity(records: Records): Promise<string | undefined> {
  const made = randomBytes(16).toString('hex');
  try {
    const put = await records.putIfAbsent(key, made);
    const value = put.isPut ? made : put.entry?.value;
    return isStoreIdentity(value) ? value : undefined;
  } catch (error) {
    if (error instanceof StoreError) return undefined;
    throw error;
  }
}
