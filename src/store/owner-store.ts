// The store of the process that owns an instance: what other processes read as well is in files, everything
// else in the database that only this process uses.

import type { RecordsOptions } from './contract/records.ts';
import { withHealthOf } from './disk-health.ts';
import type { Store } from './store.ts';

/** Durable records in files: commands add tokens while no instance runs. */
const inFiles: ReadonlySet<string> = new Set(['tokens']);

export function ownerStore(files: Store, database: Store): Store {
  const storeOf = (name: string, { durability }: RecordsOptions) =>
    durability === 'forgetful' || inFiles.has(name) ? files : database;
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
