// Opens the durable store of an instance without waiting for it: the thread that uses the database takes
// some time to start, and nothing needs it before the first request of a session. If there can be no database,
// everything is kept in memory, and the store says so for as long as it is open. A broker, whose confirmations
// would be untrue then, waits for it instead, and hears why there is none. In a rollout it is opened when the process
// before has closed it: not before, also if it is used before.

import { lstatSync } from 'node:fs';
import { memoryBackend } from '../memory/memory-operations.ts';
import { MemoryStore } from '../memory-store.ts';
import type { HeardMemory } from '../remote/memory-message.ts';
import {
  type InstanceStore,
  type InstanceStoreOptions,
  instanceStore,
  nothingFound,
} from './instance-store.ts';
import { remedyOf } from './sqlite-remedy.ts';
import { SqliteStore } from './sqlite-store.ts';
import { type FailedDatabase, openInWorker } from './worker-backend.ts';

export interface OpenSqliteOptions extends InstanceStoreOptions {
  /** The worker's program; absent: the one beside this file. */
  readonly program?: URL;
  /** What is forgotten at the end of the process is of no use: the memory in its place is never whole. */
  readonly mustOutlive?: boolean | undefined;
}

const besideThis = new URL('./worker.js', import.meta.url);

export function openSqliteStore(file: string, options: OpenSqliteOptions): InstanceStore {
  return instanceStore(() => opened(file, options), options);
}

async function opened(file: string, options: OpenSqliteOptions): Promise<SqliteStore> {
  const { clock, report, mustOutlive = false } = options;
  const former = (await options.former?.released) ?? [];
  const database = await openedOrFailed(file, options, former);
  if (database.kind === 'opened') return database.store;
  const problem = inMemory(file, database);
  report({ kind: 'unwritable', file, code: database.code, detail: problem });
  const memory = new MemoryStore({ clock, claims: 'durable' });
  const backend = memoryBackend({ memory, clock });
  const missing = { problem, isWhole: !(mustOutlive || holdsData(file)) };
  const findings = nothingFound;
  return new SqliteStore({ backend, memory, file, clock, report, findings, missing, former });
}

export type OnlyDatabase =
  | { readonly kind: 'opened'; readonly store: SqliteStore }
  | FailedDatabase;

/** For whom memory is no replacement: it says why there is no database. */
export async function openedOrFailed(
  file: string,
  { clock, report, program = besideThis }: Pick<OpenSqliteOptions, 'clock' | 'report' | 'program'>,
  former?: readonly HeardMemory[],
): Promise<OnlyDatabase> {
  const database = await openInWorker(file, program, former === undefined ? 0 : releaseMs);
  if (database.kind === 'failed') return database;
  const { backend, findings } = database;
  const options = { backend, file, clock, report, findings, ...(former && { former }) };
  return { kind: 'opened', store: new SqliteStore(options) };
}

/** So long the lock of a process that was killed may still be there. */
const releaseMs = 5_000;

/**
 * What is in the file cannot be read, or something else is in its place: then nothing can be told from what was
 * never stored.
 */
function holdsData(file: string): boolean {
  const found = lstatSync(file, { throwIfNoEntry: false });
  return found !== undefined && (!found.isFile() || found.size > 0);
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
