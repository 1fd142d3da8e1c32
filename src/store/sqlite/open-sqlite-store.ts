// Opens the durable store of an instance without waiting for it: the thread that uses the database takes
// some time to start, and nothing needs it before the first request of a session. If there can be no database,
// everything is kept in memory, and the store says so for as long as it is open. A broker, whose confirmations
// would be untrue then, waits for it instead, and hears why there is none.

import { lstatSync } from 'node:fs';
import type { Clock } from '../../kernel/clock.ts';
import { DeferredStore } from '../deferred-store.ts';
import { withHealthOf } from '../disk-health.ts';
import { MemoryStore } from '../memory-store.ts';
import type { StoreProblem } from '../problem.ts';
import type { Store } from '../store.ts';
import { remedyOf } from './sqlite-remedy.ts';
import { SqliteStore } from './sqlite-store.ts';
import { type FailedDatabase, openInWorker } from './worker-backend.ts';

export interface OpenSqliteOptions {
  readonly clock: Clock;
  readonly report: (problem: StoreProblem) => void;
  /** The worker's program; absent: the one beside this file. */
  readonly program?: URL;
  /** It is opened when this resolves, or before at its first use; absent: at once. */
  readonly openAfter?: Promise<unknown>;
  /** What is forgotten at the end of the process is of no use: the memory in its place is never whole. */
  readonly mustOutlive?: boolean | undefined;
}

const besideThis = new URL('./worker.js', import.meta.url);

export function openSqliteStore(file: string, options: OpenSqliteOptions): Store {
  return new DeferredStore(() => opened(file, options), options.openAfter);
}

async function opened(
  file: string,
  { clock, report, program = besideThis, mustOutlive = false }: OpenSqliteOptions,
): Promise<Store> {
  const database = await openedOrFailed(file, { clock, report, program });
  if (database.kind === 'opened') return database.store;
  const problem = inMemory(file, database);
  report({ kind: 'unwritable', file, code: database.code, detail: problem });
  const memory = new MemoryStore({ clock, claims: 'durable' });
  const store = mustOutlive || holdsData(file) ? notWhole(memory) : memory;
  return withHealthOf(store, () => ({ ok: false, problem }));
}

export type OnlyDatabase = { readonly kind: 'opened'; readonly store: Store } | FailedDatabase;

/** For whom memory is no replacement: it says why there is no database. */
export async function openedOrFailed(
  file: string,
  { clock, report, program = besideThis }: Omit<OpenSqliteOptions, 'openAfter' | 'mustOutlive'>,
): Promise<OnlyDatabase> {
  const database = await openInWorker(file, program);
  if (database.kind === 'failed') return database;
  const { backend, findings } = database;
  return { kind: 'opened', store: new SqliteStore({ backend, file, clock, report, findings }) };
}

/**
 * What is in the file cannot be read, or something else is in its place: then nothing can be told from what was
 * never stored.
 */
function holdsData(file: string): boolean {
  const found = lstatSync(file, { throwIfNoEntry: false });
  return found !== undefined && (!found.isFile() || found.size > 0);
}

function notWhole(store: Store): Store {
  const isWhole = async () => false;
  return {
    records: (name, options) => {
      const records = store.records(name, options);
      return {
        takesBytes: true,
        get: (key) => records.get(key),
        put: (...given) => records.put(...given),
        putIfAbsent: (...given) => records.putIfAbsent(...given),
        compareAndSet: (...given) => records.compareAndSet(...given),
        remove: (key) => records.remove(key),
        entries: (prefix) => records.entries(prefix),
        isWhole,
      };
    },
    log: (name, options) => store.log(name, options),
    queue: (name, options) => store.queue(name, options),
    counter: (name, options) => store.counter(name, options),
    health: () => store.health(),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store.close(),
  };
}

export function causeOfFailure({ detail, code }: FailedDatabase): string {
  return code === null ? detail : `${code}: ${detail}`;
}

/** `unusable`: what to do about the code. */
export function remedyOfFailure({ why }: FailedDatabase, unusable: string): string {
  return {
    missing: 'use Node 22.13 or later, or install Holdfast again with its optional packages',
    newer: 'install that version again, or move the file away',
    foreign: 'move the file away',
    unsafe: 'move it away, or make it a file of this user that others cannot change (chmod 600)',
    unusable,
  }[why];
}

function inMemory(file: string, failed: FailedDatabase): string {
  const cause = causeOfFailure(failed);
  const remedy = remedyOfFailure(failed, remedyOf(failed.code));
  return `${file} cannot be used (${cause}), so its data is kept in memory and lost at the end: ${remedy}, then start Holdfast again`;
}
