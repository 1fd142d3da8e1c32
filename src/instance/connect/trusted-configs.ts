// Which configs of project folders `connect` may use: those that this user has approved, each by the hash
// of its content. A repository that was cloned must not run commands because an agent was started in it.

import { createHash } from 'node:crypto';
import { readNamedFile } from '../../kernel/bounded-file.ts';
import { errnoOf } from '../../kernel/errno.ts';
import { Fault } from '../../kernel/fault.ts';
import { FileTooLarge } from '../../kernel/file-too-large.ts';
import type { Records } from '../../store/contract/records.ts';

interface Trusted {
  readonly sha256: string;
}

export function isTrustRecord(value: unknown): value is Trusted {
  return typeof (value as Partial<Trusted> | null)?.sha256 === 'string';
}

const maxFileBytes = 67_108_864;

export interface Trust {
  /** The hash of the config if it is approved as it is now. */
  readonly now: string | undefined;
  /** It was approved, and has changed since. */
  readonly hasChanged: boolean;
}

/** `path` is its real path. */
export async function trustOf(records: Records, path: string): Promise<Trust> {
  const entry = await records.get(path);
  if (!isTrustRecord(entry?.value)) return { now: undefined, hasChanged: false };
  const { sha256 } = entry.value;
  const isSame = sha256 === hashOf(path);
  return { now: isSame ? sha256 : undefined, hasChanged: !isSame };
}

/** Throws a Fault unless the file has this hash; without one any file will do. */
export function assertApproved(path: string, sha256: string | undefined): void {
  if (sha256 === undefined || hashOf(path) === sha256) return;
  throw changedFault(path);
}

/** What was approved is not what is there now. */
export function changedFault(path: string): Fault {
  return new Fault(
    'denied',
    `${path} has changed since it was trusted, and connect does not use the change, because it may run commands; look at the file, then trust it again with: holdfast trust ${path}`,
  );
}

/** As it is now; after a change it has to be approved again. */
export async function trust(records: Records, path: string): Promise<void> {
  await records.put(path, { sha256: hashOf(path) } satisfies Trusted);
}

/** Throws a Fault if it cannot be read. */
function hashOf(path: string): string {
  try {
    return createHash('sha256').update(readNamedFile(path, maxFileBytes)).digest('hex');
  } catch (error) {
    const code = errnoOf(error);
    if (code === undefined && !(error instanceof FileTooLarge)) throw error;
    const why = code === undefined ? 'it is too large' : code;
    throw new Fault('invalid_request', `${path} cannot be read (${why}); check the file`);
  }
}
