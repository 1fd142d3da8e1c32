// What this user has trusted, as commands read and write it: in files of the state directory, which every
// process of this user uses.

import { join } from 'node:path';
import {
  assertApproved,
  isTrustRecord,
  type SeenConfig,
  trustOf,
} from '../instance/connect/trusted-configs.ts';
import type { Records } from '../store/contract/records.ts';
import { openFilesStore } from '../store/file-store.ts';
import { remark, type Shell } from './shell.ts';
import { ownStateDirectory } from './state-directory.ts';

export async function withTrustRecords<T>(
  shell: Shell,
  work: (records: Records) => Promise<T>,
): Promise<T> {
  const folder = join(await ownStateDirectory(shell), 'store');
  await using store = openFilesStore(folder, {
    clock: shell.clock,
    // What cannot be stored is a fault of the caller as well.
    report: ({ kind, detail }) => {
      if (kind !== 'refused') remark(shell, detail);
    },
  });
  return await work(store.records('trusted', { durability: 'durable', shape: isTrustRecord }));
}

/**
 * For an instance that was started with an approved config: throws a Fault unless what was read is as it was
 * then, or was trusted since. Without a hash any config will do.
 */
export async function assertStillApproved(
  shell: Shell,
  seen: SeenConfig,
  approved: string | undefined,
): Promise<void> {
  if (approved === undefined) return;
  const trust = await withTrustRecords(shell, (records) => trustOf(records, seen));
  if (trust !== 'trusted') assertApproved(seen, approved);
}
