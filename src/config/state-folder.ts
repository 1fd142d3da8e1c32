// The folder below the state directory that belongs to one config: found by the config's real path, so that
// every process that uses the config finds the same one.

import { createHash } from 'node:crypto';
import { join } from 'node:path';

/** `config` is the real path. */
export function stateFolderOf(stateDir: string, config: string): string {
  return join(stateDir, 'by-config', digestOf(config));
}

/** Short, and different for different texts. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** Where the audit log is; `config` is null for a config without a file. */
export function auditFolderOf(stateDir: string, config: string | null): string {
  return join(config === null ? stateDir : stateFolderOf(stateDir, config), 'audit');
}
