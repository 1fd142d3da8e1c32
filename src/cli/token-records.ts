// Where access tokens are stored: in files of the state directory, so that commands add and revoke them
// whether a gateway runs or not. The token of the local user is valid for every config of this user and lies
// in the store that all of them share; a token with a role belongs to one config, and lies in the folder of
// that config, where no gateway of another config looks.

import { join } from 'node:path';
import { realConfigPath } from '../config/config-path.ts';
import { stateFolderOf } from '../config/state-folder.ts';
import { isTokenRecord } from '../downstream/http/access/token-record.ts';
import { isTokenUse } from '../downstream/http/access/token-uses.ts';
import type { Records } from '../store/contract/records.ts';
import { openFilesStore } from '../store/file-store.ts';
import type { Store } from '../store/store.ts';
import { remark, type Shell } from './shell.ts';
import { ownStateDirectory } from './state-directory.ts';

export interface TokenFolders {
  /** The stores. */
  readonly shared: string;
  readonly own: string;
  /** The folders with the records of tokens, in the same order. */
  readonly tokens: readonly [string, string];
}

export interface TokenRecords {
  /** The token of the local user. */
  readonly local: Records;
  /** The tokens of this config. */
  readonly own: Records;
  /** When each was last used. */
  readonly uses: Records;
}

const collection = 'tokens';

/** Of the config in this file. */
export async function tokenFolders(shell: Shell, configFile: string): Promise<TokenFolders> {
  const stateDir = await ownStateDirectory(shell);
  const shared = join(stateDir, 'store');
  const own = join(stateFolderOf(stateDir, realConfigPath(configFile) ?? configFile), 'store');
  return { shared, own, tokens: [join(shared, collection), join(own, collection)] };
}

/** For a gateway, which has the shared store already. */
export function ownTokenStore(shell: Shell, { own }: TokenFolders): Store {
  return openFilesStore(own, {
    clock: shell.clock,
    report: ({ detail }) => remark(shell, detail),
  });
}

export function ownTokensIn(store: Store): Omit<TokenRecords, 'local'> {
  return {
    own: store.records(collection, { durability: 'durable', shape: isTokenRecord }),
    uses: store.records('token-uses', { durability: 'forgetful', shape: isTokenUse }),
  };
}

export async function withTokenRecords<T>(
  shell: Shell,
  configFile: string,
  work: (records: TokenRecords) => Promise<T>,
): Promise<T> {
  const folders = await tokenFolders(shell, configFile);
  await using own = ownTokenStore(shell, folders);
  await using shared = ownTokenStore(shell, { ...folders, own: folders.shared });
  const local = shared.records(collection, { durability: 'durable', shape: isTokenRecord });
  return await work({ local, ...ownTokensIn(own) });
}
