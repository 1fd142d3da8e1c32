// Where the embedded broker keeps what is its own: credentials, letters and its lock. Without a name it is a folder
// of the config in the state directory, so that on one machine the broker, the orchestrator and the commands find
// it by themselves; a broker on a machine without a config has a directory that is named.

import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  credentialCollection,
  isCredentialRecord,
} from '../broker/credentials/credential-record.ts';
import { realConfigPath } from '../config/config-path.ts';
import { stateFolderOf } from '../config/state-folder.ts';
import { ignored } from '../kernel/contain.ts';
import { errnoOf } from '../kernel/errno.ts';
import { Fault } from '../kernel/fault.ts';
import type { Records } from '../store/contract/records.ts';
import { openFilesStore } from '../store/file-store.ts';
import type { StoreProblem } from '../store/problem.ts';
import type { Store } from '../store/store.ts';
import { openness } from './gateway/safe-start.ts';
import { remark, type Shell } from './shell.ts';
import { shellWord } from './shell-word.ts';
import { ownStateDirectory } from './state-directory.ts';

export interface BrokerPlace {
  readonly folder: string;
  /** The folder with the records of credentials. */
  readonly credentials: string;
  readonly database: string;
}

/** `dir` is the one that was named. Throws a Fault if there is neither a name nor a config. */
export async function brokerPlace(
  shell: Shell,
  dir: string | undefined,
  configFile: string | undefined,
): Promise<BrokerPlace> {
  const folder =
    dir === undefined ? await folderOfConfig(shell, configFile) : await named(shell, dir);
  return {
    folder,
    credentials: join(folder, credentialCollection),
    database: join(folder, 'broker.db'),
  };
}

/** One that is there already and open to others is not ours to close: it may be any directory. */
async function named({ cwd }: Shell, dir: string): Promise<string> {
  if (dir.trim() === '') throw new Fault('invalid_request', '--dir is empty: name a directory');
  const folder = resolve(cwd, dir);
  const found = await stat(folder).catch(unlessReadable);
  if (found === undefined) return folder;
  const problem = found.isDirectory() ? openness(found, process.getuid?.() ?? found.uid) : 'kind';
  if (problem === undefined) return folder;
  const next = 'name a directory that is not there yet with --dir DIR';
  const words = {
    kind: `is not a directory: ${next}`,
    owner: `belongs to another user, who could let anybody in: ${next}`,
    mode: `is open to other users, who could let anybody in: ${next}, or set: chmod go= ${shellWord(folder)}`,
  }[problem];
  throw new Fault('invalid_request', `${folder} ${words}`);
}

/** Whoever writes there reports it. */
function unlessReadable(error: unknown): undefined {
  if (errnoOf(error) === undefined) throw error;
}

async function folderOfConfig(shell: Shell, configFile: string | undefined): Promise<string> {
  const { locatedConfig } = await import('../config/load.ts');
  const file = locatedConfig(configFile, shell.cwd, shell.env);
  if (file === undefined || !existsSync(file)) {
    const what = file === undefined ? 'there is no config here' : `there is no ${file}`;
    throw new Fault(
      'invalid_request',
      `${what}, so the directory of the broker is not known: name it with --dir DIR, or a config with --config FILE`,
    );
  }
  const stateDir = await ownStateDirectory(shell);
  return join(stateFolderOf(stateDir, realConfigPath(file) ?? file), 'broker');
}

/** `heard` gets each problem that is said to people, too. */
export function credentialStore(
  shell: Shell,
  { folder }: BrokerPlace,
  heard: (problem: StoreProblem) => void = ignored,
): Store {
  return openFilesStore(folder, {
    clock: shell.clock,
    report: (problem) => {
      heard(problem);
      remark(shell, problem.detail);
    },
  });
}

export function credentialsIn(store: Store): Records {
  return store.records(credentialCollection, { durability: 'durable', shape: isCredentialRecord });
}

export async function withCredentials<T>(
  shell: Shell,
  place: BrokerPlace,
  work: (records: Records) => Promise<T>,
): Promise<T> {
  await using store = credentialStore(shell, place);
  return await work(credentialsIn(store));
}
