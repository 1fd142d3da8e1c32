// Which configs of project folders `connect` may use: those that this user has approved, each by the hash
// of its content. A repository that was cloned must not run commands because an agent was started in it.
// Nothing here reads the file: the hash is given by whoever has read it, and is that of the bytes that are
// used, so that a file that is exchanged after it was looked at is not used unseen.

import { Fault } from '../../kernel/fault.ts';
import type { Records } from '../../store/contract/records.ts';

interface Trusted {
  readonly sha256: string;
}

export function isTrustRecord(value: unknown): value is Trusted {
  return typeof (value as Partial<Trusted> | null)?.sha256 === 'string';
}

/** A config with these bytes; its path is the real one. */
export interface SeenConfig {
  readonly path: string;
  readonly sha256: string;
}

/** `changed`: it was approved with other bytes. */
export type Trust = 'trusted' | 'changed' | 'unknown';

export async function trustOf(records: Records, { path, sha256 }: SeenConfig): Promise<Trust> {
  const entry = await records.get(path);
  if (!isTrustRecord(entry?.value)) return 'unknown';
  return entry.value.sha256 === sha256 ? 'trusted' : 'changed';
}

/** Throws a Fault unless it has the hash that was approved; without one any config will do. */
export function assertApproved({ path, sha256 }: SeenConfig, approved: string | undefined): void {
  if (approved === undefined || sha256 === approved) return;
  throw changedFault(path);
}

/** What was approved is not what is there now. */
export function changedFault(path: string): Fault {
  return new Fault(
    'denied',
    `${path} has changed since it was trusted, and connect does not use the change, because it may run commands; look at the file, then trust it again with: holdfast trust ${path}`,
  );
}

/** With these bytes; after a change it has to be approved again. */
export async function trust(records: Records, { path, sha256 }: SeenConfig): Promise<void> {
  await records.put(path, { sha256 } satisfies Trusted);
}
