// Opens one database after the other, each as it was left by a crash or by damage, and says what is in it.
// A program of its own, because a library that meets a damaged file may end the process. The paths come on
// standard input, one a line; each is answered with one line.

import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import type { StoreProblem } from '../../../src/store/problem.ts';
import type { Backend } from '../../../src/store/sqlite/backend.ts';
import type { Store } from '../../../src/store/store.ts';
import { hurriedClock } from '../hurried-clock.ts';
import { everythingIn } from './everything-in.ts';
import type { Reading } from './readings.ts';

type DriverModule = typeof import('../../../src/store/sqlite/driver.ts');
type OpenModule = typeof import('../../../src/store/sqlite/open-database.ts');
type ErrorModule = typeof import('../../../src/store/sqlite/open-error.ts');
type StoreModule = typeof import('../../../src/store/sqlite/sqlite-store.ts');

const [build = 'dist'] = process.argv.slice(2);
const load = (file: string) => import(pathToFileURL(join(build, file)).href);
const { loadDriver } = (await load('store/sqlite/driver.js')) as DriverModule;
const { openDatabase } = (await load('store/sqlite/open-database.js')) as OpenModule;
const { OpenError } = (await load('store/sqlite/open-error.js')) as ErrorModule;
const { SqliteStore } = (await load('store/sqlite/sqlite-store.js')) as StoreModule;

process.removeAllListeners('warning');
/** All leases have ended then. */
const later = { ...hurriedClock, wallNow: () => Date.now() + 86_400_000 };

const driver = loadDriver();
if (driver === undefined) throw new Error('no SQLite can be loaded here');
for await (const file of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await readingOf(file)));
}

async function readingOf(file: string): Promise<Reading> {
  const problems: StoreProblem[] = [];
  let store: Store;
  try {
    store = opened(file, (problem) => void problems.push(problem));
  } catch (error) {
    if (!(error instanceof OpenError)) throw error;
    return { kind: 'refused', detail: error.message };
  }
  const reading = await everythingIn(store, problems);
  await store.close();
  return reading;
}

function opened(file: string, report: (problem: StoreProblem) => void): Store {
  if (driver === undefined) throw new Error('no SQLite can be loaded here');
  const { engine, findings } = openDatabase(driver, file);
  const backend: Backend = {
    apply: async (operations) => engine.apply(operations),
    close: async () => engine.close(),
  };
  return new SqliteStore({ backend, file, clock: later, report, findings });
}
