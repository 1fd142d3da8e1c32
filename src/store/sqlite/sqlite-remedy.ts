// What a user can do when SQLite or the system refuses, by its code.

import { remedyFor } from '../../kernel/disk-remedy.ts';
import { ownValue } from '../../kernel/own-value.ts';

const remedies: Readonly<Record<string, string>> = {
  SQLITE_FULL: 'free space on that disk',
  SQLITE_READONLY: 'make it writable for this user, or set HOLDFAST_STATE to another directory',
  SQLITE_CANTOPEN: 'make its folder accessible for this user, or set HOLDFAST_STATE to another one',
  SQLITE_BUSY: 'another program has it open: end that program',
};

/** One short phrase. */
export function remedyOf(code: string | null | undefined): string {
  return ownValue(remedies, code ?? '') ?? remedyFor(code ?? '');
}
