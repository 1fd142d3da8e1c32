// Who may do what besides the local user, in short, for `status`: from the config and the stored tokens.

import type { LoadedConfig } from '../config/loaded.ts';
import { Roles } from '../policy/roles/roles.ts';
import { StoreError } from '../store/store-error.ts';
import type { Shell } from './shell.ts';
import { listedTokens } from './token-book.ts';
import { orAway, withTokenRecords } from './token-records.ts';

export interface AccessNote {
  readonly auth: 'token' | 'none';
  /** The role of the local user; null: everything. */
  readonly local: string | null;
  readonly roles: readonly { readonly name: string; readonly everything: boolean }[];
  /** How many tokens with a role there are that have not expired; null: the store cannot be reached. */
  readonly tokens: number | null;
}

export async function accessNote(
  shell: Shell,
  { config, file }: LoadedConfig,
): Promise<AccessNote> {
  const decided = new Roles(config);
  const names = Object.keys(config.roles);
  const now = shell.clock.wallNow();
  const { store } = config;
  const listed =
    file === null ? [] : await orAway(withTokenRecords(shell, { file, store }, listedTokens));
  const known = listed instanceof StoreError ? undefined : listed;
  const valid = known?.filter(
    ({ role, expiresAt }) => role !== null && (expiresAt === null || now < expiresAt),
  );
  const roles = names.map((name) => ({ name, everything: decided.isEverything(name) }));
  return { auth: config.http.auth, local: config.local.role, roles, tokens: valid?.length ?? null };
}
