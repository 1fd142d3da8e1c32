// The checksum of a row: over everything in it, so that a row that was moved or mixed up is noticed too.

import { createHash } from 'node:crypto';
import type { SqlValue } from './driver.ts';

export const digestBytes = 22;

export function digestOf(values: readonly SqlValue[]): string {
  return createHash('sha256')
    .update(JSON.stringify(values))
    .digest('base64url')
    .slice(0, digestBytes);
}
