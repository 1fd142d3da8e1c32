// The checksum of a row: over everything in it, so that a row that was moved or mixed up is noticed too.

import { createHash } from 'node:crypto';
import { isBytes } from '../contract/bytes.ts';
import type { SqlValue } from './driver.ts';

export const digestBytes = 22;

export function digestOf(values: readonly SqlValue[]): string {
  const hash = createHash('sha256').update(JSON.stringify(values.map(lengthOfBytes)));
  for (const value of values) if (isBytes(value)) hash.update(value);
  return hash.digest('base64url').slice(0, digestBytes);
}

/** Bytes as a list, which no other value is. */
function lengthOfBytes(value: SqlValue): unknown {
  return isBytes(value) ? [value.length] : value;
}
