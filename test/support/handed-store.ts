// Stores of one instance over rollouts, in one process: the first one, and each next one after it was handed over, with
// played links between them.

import { join } from 'node:path';
import { FormerStore } from '../../src/store/remote/former-store.ts';
import { openMemoryInstead } from '../../src/store/sqlite/instance-store.ts';
import { openDatabase } from '../../src/store/sqlite/open-database.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import type { ManualClock } from './manual-clock.ts';
import { type PlayedLink, playedLink } from './played-link.ts';
import { driver, newFolder, openHere } from './sqlite-place.ts';

export interface HandedStore {
  readonly store: Store;
  /** The next process has it from now on. `link`: between the two. */
  next(): Promise<HandedStore & { readonly link: PlayedLink }>;
}

export function caughtInTest(error: unknown): never {
  throw error;
}

/** On a real file, in this thread. */
export function firstDatabase(clock: ManualClock): HandedStore {
  const file = join(newFolder(), 'state.db');
  return databaseOf(openHere(file, clock).store, file, clock);
}

function databaseOf(store: SqliteStore, file: string, clock: ManualClock): HandedStore {
  const next = async () => {
    const link = playedLink();
    const handing = store.handOver(link.former);
    const taken = await nextDatabase(link, file, clock);
    await handing;
    return { ...databaseOf(taken, file, clock), link };
  };
  return { store, next };
}

/** Opens the file when the former store has closed it. */
export async function nextDatabase(
  link: PlayedLink,
  file: string,
  clock: ManualClock,
): Promise<SqliteStore> {
  const former = new FormerStore({ link: link.next, caught: caughtInTest });
  const memory = await former.released;
  const { engine, findings } = openDatabase(driver(), file);
  const backend = {
    apply: async (operations: Parameters<typeof engine.apply>[0]) => engine.apply(operations),
    close: async () => engine.close(),
  };
  const report = () => {};
  const next = new SqliteStore({ backend, file, clock, report, findings, former: memory });
  former.serve(next);
  return next;
}

/** Of an instance that keeps nothing on a disk. */
export function firstMemory(clock: ManualClock, former?: FormerStore): HandedStore {
  const options = { clock, report: () => {}, ...(former && { former }) };
  const store = openMemoryInstead(options);
  const next = async () => {
    const link = playedLink();
    const taking = new FormerStore({ link: link.next, caught: caughtInTest });
    const taken = firstMemory(clock, taking);
    await store.handOver(link.former);
    // It has come.
    await taking.released;
    return { ...taken, link };
  };
  return { store, next };
}
