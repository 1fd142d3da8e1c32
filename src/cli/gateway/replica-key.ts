// The mark of the key that all replicas on one store have: only it goes through the store, so that a replica with another
// key can be told so, and the key itself is in no place but its file.

import { createHmac } from 'node:crypto';

/** Where the mark is in the store. */
export const keyRecord = { records: 'replicas', key: 'key' } as const;

export function keyMark(key: Buffer): string {
  return createHmac('sha256', key).update('replicas of holdfast: mark').digest('hex');
}

/** In what is stored; undefined if there is none. */
export function markIn(value: unknown): unknown {
  return ((value ?? {}) as { readonly mark?: unknown }).mark;
}

export function otherKeyWords(keyFile: string): string {
  return `the key in ${keyFile} is not that of the other replicas on this store`;
}

export const otherKeyRemedy =
  'copy theirs to this place ("keyFile" in the config), or give this one a store of its own (another name at the end of its nats:// address)';
