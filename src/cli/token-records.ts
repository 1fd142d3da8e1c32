// Where access tokens are stored: in files of the state directory, so that commands add and revoke them
// whether a gateway runs or not. The token of the local user is valid for every config of this user and lies
// in the store that all of them share; a token with a role belongs to one config, and lies in the folder of
// that config, where no gateway of another config looks. If the config names a NATS server as its store, tokens with
// roles are there, for all gateways that use it; commands connect to it themselves.

import { join } from 'node:path';
import { realConfigPath } from '../config/config-path.ts';
import { stateFolderOf } from '../config/state-folder.ts';
import { isTokenRecord } from '../downstream/http/access/token-record.ts';
import { isTokenUse } from '../downstream/http/access/token-uses.ts';
import { isNatsAddress } from '../nats/nats-address.ts';
import type { Records } from '../store/contract/records.ts';
import { openFilesStore } from '../store/file-store.ts';
import type { Store } from '../store/store.ts';
import { StoreError } from '../store/store-error.ts';
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

/** The tokens of this config in the store that several gateways use. */
export function sharedTokensIn(store: Store): Omit<TokenRecords, 'local'> {
  return {
    own: store.records(collection, { durability: 'durable', shape: isTokenRecord }),
    uses: store.records('token-uses', {
      durability: 'forgetful',
      shared: true,
      shape: isTokenUse,
    }),
  };
}

export function ownTokensIn(store: Store): Omit<TokenRecords, 'local'> {
  return {
    own: store.records(collection, { durability: 'durable', shape: isTokenRecord }),
    uses: store.records('token-uses', { durability: 'forgetful', shape: isTokenUse }),
  };
}

/** Whose tokens are meant: the file of the config, and what it says of its store. */
export interface TokenOwner {
  readonly file: string;
  readonly store: string;
}

/** Rejects with a StoreError if the tokens are on a server that cannot be reached. */
export async function withTokenRecords<T>(
  shell: Shell,
  { file, store }: TokenOwner,
  work: (records: TokenRecords) => Promise<T>,
): Promise<T> {
  const folders = await tokenFolders(shell, file);
  await using shared = ownTokenStore(shell, { ...folders, own: folders.shared });
  const local = shared.records(collection, { durability: 'durable', shape: isTokenRecord });
  if (isNatsAddress(store)) {
    await using onServer = await openForCommand(shell, store);
    return await work({ local, ...sharedTokensIn(onServer) });
  }
  await using own = ownTokenStore(shell, folders);
  return await work({ local, ...ownTokensIn(own) });
}

/** For those who can do without: the error, if the server that has the tokens cannot be reached. */
export async function orAway<T>(reading: Promise<T>): Promise<T | StoreError> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof StoreError && error.reason === 'unreadable') return error;
    throw error;
  }
}

/** What is wrong with it is said by the operation that fails. */
export async function openForCommand(shell: Shell, address: string): Promise<Store> {
  const { openNatsStore } = await import('../store/nats/open-nats-store.ts');
  const caught = (error: unknown) => remark(shell, `an error of the shared store: ${error}`);
  return openNatsStore(address, { clock: shell.clock, report: () => {}, caught });
}
