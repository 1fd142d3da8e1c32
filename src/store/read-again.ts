// Reads records that decide who has access, again and again while a process runs. A record that cannot be read
// for the moment counts as it was before; one that is gone, damaged or closed to us counts no more.

import { errnoOf } from '../kernel/errno.ts';
import { shortageOf } from '../kernel/shortage.ts';
import { ApiError } from '../nats/jet-stream-api.ts';
import { NatsError } from '../nats/nats-error.ts';
import type { Records } from './contract/records.ts';
import { StoreError } from './store-error.ts';

export interface ReadRecords<Known> {
  readonly records: readonly Known[];
  /** Each of them could be read. */
  readonly isWhole: boolean;
}

/** `read` gives those that can be read; `keyOf` is the key that one is stored under. */
export async function readAgain<Known>(
  records: Records,
  before: readonly Known[],
  read: (records: Records) => Promise<readonly Known[]>,
  keyOf: (known: Known) => string,
): Promise<ReadRecords<Known>> {
  const found = await readUnlessAway(records, read);
  // Nothing is known of what is there now.
  if (found === undefined) return { records: before, isWhole: false };
  if (await records.isWhole()) return { records: found, isWhole: true };
  const keys = new Set(found.map(keyOf));
  const kept: Known[] = [];
  for (const known of before) {
    const key = keyOf(known);
    if (!keys.has(key) && (await cannotBeReadNow(records, key))) kept.push(known);
  }
  return { records: [...found, ...kept], isWhole: false };
}

/** Undefined if the server that has them cannot be reached. */
async function readUnlessAway<Known>(
  records: Records,
  read: (records: Records) => Promise<readonly Known[]>,
): Promise<readonly Known[] | undefined> {
  try {
    return await read(records);
  } catch (error) {
    if (error instanceof StoreError && isAway(error)) return undefined;
    throw error;
  }
}

/** Nothing is damaged: the server of the records cannot be reached. */
export function isAway({ reason, cause }: StoreError): boolean {
  return reason === 'unreadable' && (cause instanceof NatsError || cause instanceof ApiError);
}

/** What a disk or a network does for a while; a change by somebody has other codes. */
const passing: ReadonlySet<string | undefined> = new Set(['EIO', 'EBUSY', 'ESTALE', 'ETIMEDOUT']);

/** For a reason that may pass by itself. */
async function cannotBeReadNow(records: Records, key: string): Promise<boolean> {
  try {
    await records.get(key);
    return false;
  } catch (error) {
    if (!(error instanceof StoreError) || error.reason !== 'unreadable') throw error;
    if (isAway(error)) return true;
    return shortageOf(error.cause) !== undefined || passing.has(errnoOf(error.cause));
  }
}
