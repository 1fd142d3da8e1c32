// The store of the process that owns an instance: what other processes of this machine read as well is in files,
// everything else in the database that only this process uses, or in the store that it shares with other instances.

import type { RecordsOptions } from './contract/records.ts';
import { withHealthOf } from './disk-health.ts';
import type { Store } from './store.ts';

/** Durable records in files: commands add tokens while no instance runs. */
const inFiles: ReadonlySet<string> = new Set(['tokens']);

/** `isShared`: other instances use the same database. */
export function ownerStore(files: Store, database: Store, isShared = false): Store {
  const storeOf = (name: string, { durability, shared = false }: RecordsOptions) => {
    const isHere = durability === 'forgetful' && !(isShared && shared);
    return isHere || inFiles.has(name) ? files : database;
  };
  const close = async () => {
    await Promise.all([files.close(), database.close()]);
  };
  const store: Store = {
    records: (name, options) => storeOf(name, options).records(name, options),
    log: (name, options) => database.log(name, options),
    queue: (name, options) => database.queue(name, options),
    counter: (name, options) => database.counter(name, options),
    health: () => files.health(),
    close,
    [Symbol.asyncDispose]: close,
  };
  return withHealthOf(store, () => database.health());
}
