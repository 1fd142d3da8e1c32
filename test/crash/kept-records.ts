// The record files of a store as they are on the disk, read by the shipped reader of records without
// touching them: what is whole, and what is not.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CrashHome } from './home.ts';
import type { Shipped } from './shipped.ts';

export interface KeptRecord {
  readonly file: string;
  readonly value: unknown;
}

export interface Kept {
  readonly records: readonly KeptRecord[];
  /** Files that are no whole records, with the reason. */
  readonly broken: readonly string[];
}

export function keptRecords({ decodeRecord }: Shipped, home: CrashHome, collection: string): Kept {
  const folder = home.inState(join('store', collection));
  const records: KeptRecord[] = [];
  const broken: string[] = [];
  for (const file of filesIn(folder)) {
    if (file.endsWith('.damaged')) broken.push(`${file} was set aside`);
    if (!file.endsWith('.record')) continue;
    const decoded = decodeRecord(readFileSync(join(folder, file)));
    if (decoded.kind === 'record') records.push({ file, value: JSON.parse(decoded.record.text) });
    else broken.push(`${file} is ${decoded.kind}`);
  }
  return { records, broken };
}

export function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
