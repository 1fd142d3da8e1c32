// Which configs of project folders `connect` may use: those that this user has approved, each by the hash
// of its content. A repository that was cloned must not run commands because an agent was started in it.

import { createHash } from 'node:crypto';
import { readNamedFile } from '../../kernel/bounded-file.ts';
import type { Records } from '../../store/contract/records.ts';

interface Trusted {
  readonly sha256: string;
}

export function isTrustRecord(value: unknown): value is Trusted {
  return typeof (value as Partial<Trusted> | null)?.sha256 === 'string';
}

const maxFileBytes = 67_108_864;

/** `path` is the config's real path. */
export async function isTrusted(records: Records, path: string): Promise<boolean> {
  const entry = await records.get(path);
  return isTrustRecord(entry?.value) && entry.value.sha256 === hashOf(path);
}

/** As it is now; after a change it has to be approved again. */
export async function trust(records: Records, path: string): Promise<void> {
  await records.put(path, { sha256: hashOf(path) } satisfies Trusted);
}

function hashOf(path: string): string {
  return createHash('sha256').update(readNamedFile(path, maxFileBytes)).digest('hex');
}
