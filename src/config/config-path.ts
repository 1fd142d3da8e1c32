// Which file a config is, without reading it: the user's home, and the one real path by which everything
// that belongs to a config is found.

import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/** Identifies a config file, however it was named; null for a config without a file. */
export function realConfigPath(file: string | null): string | null {
  if (file === null) return null;
  try {
    return realpathSync(file);
  } catch {
    // Moved since it was read.
    return file;
  }
}

/** Where the key of a config is; null: it has no file, and names none. */
export function keyFileOf(keyFile: string | undefined, config: string | null): string | null {
  const real = realConfigPath(config);
  return keyFile ?? (real === null ? null : join(dirname(real), 'holdfast.key'));
}

/** The user's home: from the environment, else from the system. */
export function homeOf(env: Environment): string | undefined {
  return env['HOME'] || homedir() || undefined;
}
