// The check of the key of a gateway whose store is on a NATS server: is it the one that the other replicas there have? What
// the store says of itself is a finding of the check of the tokens, which are in it too.

import { keyFileOf } from '../../config/config-path.ts';
import type { LoadedConfig } from '../../config/loaded.ts';
import { isNatsAddress } from '../../nats/nats-address.ts';
import { storedKey } from '../../store/key-file.ts';
import { StoreError } from '../../store/store-error.ts';
import {
  keyMark,
  keyRecord,
  markIn,
  otherKeyRemedy,
  otherKeyWords,
} from '../gateway/replica-key.ts';
import type { Shell } from '../shell.ts';
import { openForCommand } from '../token-records.ts';
import { type Check, finding, ok } from './check.ts';

/** Nothing where the store is not shared, or has no mark of a key yet. */
export async function checkReplicaKey(
  shell: Shell,
  { config, file }: LoadedConfig,
): Promise<readonly Check[]> {
  if (!isNatsAddress(config.store)) return [];
  const keyFile = keyFileOf(config.keyFile, file) ?? 'holdfast.key';
  try {
    const mark = await markAt(shell, config.store);
    if (mark === undefined) return [];
    const key = await storedKey(keyFile);
    if (key === null) {
      return [
        finding('keyFile', `${keyFile} is missing, and other replicas use this store`, remedy),
      ];
    }
    if (keyMark(key) !== mark) return [finding('keyFile', otherKeyWords(keyFile), otherKeyRemedy)];
    return [ok('keyFile', `${keyFile} has the key of the replicas on this store`)];
  } catch (error) {
    if (error instanceof StoreError) return [];
    return [finding('keyFile', error instanceof Error ? error.message : String(error), remedy)];
  }
}

const remedy = 'copy the key of another replica to this place, for this user alone (chmod 600)';

/** Undefined if there is none. Rejects with a StoreError. */
async function markAt(shell: Shell, address: string): Promise<unknown> {
  await using store = await openForCommand(shell, address);
  const records = store.records(keyRecord.records, { durability: 'durable' });
  return markIn((await records.get(keyRecord.key))?.value);
}
