// Which configs of project folders `connect` may use: those that this user has approved, each by the hash
// of its content. A repository that was cloned must not run commands because an agent was started in it.

import { createHash } from 'node:crypto';
import { readNamedFile } from '../../kernel/bounded-file.ts';
import { Fault } from '../../kernel/fault.ts';
import type { Records } from '../../store/contract/records.ts';

interface Trusted {
  readonly sha256: string;
}

export function isTrustRecord(value: unknown): value is Trusted {
  return typeof (value as Partial<Trusted> | null)?.sha256 === 'string';
}

const maxFileBytes = 67_108_864;

/** The hash of the config if it is approved as it is now. `path` is its real path. */
export async function trustedHash(records: Records, path: string): Promise<string | undefined> {
  const entry = await records.get(path);
  if (!isTrustRecord(entry?.value)) return undefined;
  const { sha256 } = entry.value;
  return sha256 === hashOf(path) ? sha256 : undefined;
}

/** Throws a Fault unless the file has this hash; without one any file will do. */
export function assertApproved(path: string, sha256: string | undefined): void {
  if (sha256 === undefined || hashOf(path) === sha256) return;
  throw new Fault(
    'denied',
    `${path} has changed since it was approved, and is not used; look at it, then approve it with: holdfast trust ${path}`,
  );
}

/** As it is now; after a change it has to be approved again. */
export async function trust(records: Records, path: string): Promise<void> {
  await records.put(path, { sha256: hashOf(path) } satisfies Trusted);
}

function hashOf(path: string): string {
  return createHash('sha256').update(readNamedFile(path, maxFileBytes)).digest('hex');
}
