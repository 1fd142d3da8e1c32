// Reads records that decide who has access, again and again while a process runs. A record that cannot be read
// for the moment counts as it was before; one that is gone, damaged or closed to us counts no more. A folder or file
// that could not be read may be readable a moment later, when it is asked for: so one that was not found is gone only
// if it is not there when it is looked for by itself.

import { errnoOf } from '../kernel/errno.ts';
import { shortageOf } from '../kernel/shortage.ts';
import { ApiError } from '../nats/jet-stream-api.ts';
import { NatsError } from '../nats/nats-error.ts';
import type { RecordEntry, Records } from './contract/records.ts';
import { StoreError } from './store-error.ts';

export interface ReadRecords<Known> {
  readonly records: readonly Known[];
  /** Each of them could be read. */
  readonly isWhole: boolean;
}

/** `knownIn` is what an entry says, undefined if it does not count; `keyOf` is the key that one is stored under. */
export async function readAgain<Known>(
  records: Records,
  before: readonly Known[],
  knownIn: (entry: RecordEntry) => Known | undefined,
  keyOf: (known: Known) => string,
): Promise<ReadRecords<Known>> {
  const entries = await entriesUnlessAway(records);
  // Nothing is known of what is there now.
  if (entries === undefined) return { records: before, isWhole: false };
  const found = entries.map(knownIn).filter((known) => known !== undefined);
  const keys = new Set(found.map(keyOf));
  const missing = before.filter((known) => !keys.has(keyOf(known)));
  const looked = await Promise.all(
    missing.map(async (known) => {
      const entry = await entryNow(records, keyOf(known));
      return entry === 'closed' ? known : entry && knownIn(entry);
    }),
  );
  const kept = looked.filter((known) => known !== undefined);
  const isWhole = await records.isWhole();
  return { records: [...found, ...kept], isWhole: isWhole && kept.length === 0 };
}

/** Undefined if the server that has them cannot be reached. */
async function entriesUnlessAway(records: Records): Promise<readonly RecordEntry[] | undefined> {
  try {
    return await records.entries();
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

/** `closed`: it cannot be read for a reason that may pass by itself. */
async function entryNow(
  records: Records,
  key: string,
): Promise<RecordEntry | undefined | 'closed'> {
  try {
    return await records.get(key);
  } catch (error) {
    if (!(error instanceof StoreError) || error.reason !== 'unreadable') throw error;
    if (isAway(error)) return 'closed';
    const isPassing = shortageOf(error.cause) !== undefined || passing.has(errnoOf(error.cause));
    return isPassing ? 'closed' : undefined;
  }
}
