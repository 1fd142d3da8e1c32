// Whether the directory of a broker has had a database before: a file beside it says so. A broker whose database is
// there no longer begins with an empty one, which must not look like the first start.

import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ignored } from '../kernel/contain.ts';
import type { BrokerPlace } from './broker-place.ts';

type Place = Pick<BrokerPlace, 'folder' | 'database'>;

/** What to tell people before the database is opened; undefined: nothing. */
export function missingDatabase({ folder, database }: Place): string | undefined {
  if (existsSync(database) || !existsSync(markOf(folder))) return undefined;
  return `${database} is not there, although this broker had it before: it begins with an empty one, and the letters that were kept there are lost. Put the file back and start again if you have it`;
}

/** The database is there. */
export async function markDatabase({ folder }: Place): Promise<void> {
  // Without the mark only these words are missing.
  await writeFile(markOf(folder), '', { flag: 'a', mode: 0o600 }).catch(ignored);
}

function markOf(folder: string): string {
  return join(folder, 'database-made');
}
