// A PATH as on a machine without `unshare`, so that no pid namespace holds processes together and what
// a killed host leaves is the reaper's to end.

import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** What the reaper's script uses, and nothing that makes a namespace. */
const tools = ['cat', 'awk', 'grep', 'tr', 'rmdir', 'sleep', 'ps'];

/** Makes the folder, with these programs in it wherever on the PATH they are, and no others. */
export function pathWithoutUnshare(folder: string): string {
  mkdirSync(folder);
  const places = (process.env['PATH'] ?? '').split(delimiter);
  for (const tool of tools) {
    const file = places.map((place) => join(place, tool)).find(existsSync);
    if (file !== undefined) symlinkSync(file, join(folder, tool));
  }
  return folder;
}
