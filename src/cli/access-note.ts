// Who may do what besides the local user, in short, for `status`: from the config and the stored tokens.

import type { LoadedConfig } from '../config/loaded.ts';
import { Roles } from '../policy/roles/roles.ts';
import type { Shell } from './shell.ts';
import { listedTokens } from './token-book.ts';
import { withTokenRecords } from './token-records.ts';

export interface AccessNote {
  readonly auth: 'token' | 'none';
  /** The role of the local user; null: everything. */
  readonly local: string | null;
  readonly roles: readonly { readonly name: string; readonly everything: boolean }[];
  /** How many tokens with a role there are that have not expired. */
  readonly tokens: number;
}

export async function accessNote(
  shell: Shell,
  { config, file }: LoadedConfig,
): Promise<AccessNote> {
  const decided = new Roles(config);
  const names = Object.keys(config.roles);
  const now = shell.clock.wallNow();
  const listed = file === null ? [] : await withTokenRecords(shell, file, listedTokens);
  const valid = listed.filter(
    ({ role, expiresAt }) => role !== null && (expiresAt === null || now < expiresAt),
  );
  const roles = names.map((name) => ({ name, everything: decided.isEverything(name) }));
  return { auth: config.http.auth, local: config.local.role, roles, tokens: valid.length };
}
