// The modules of the build under test that are looked into directly: the same files that a program
// which embeds the library would load.

import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

type EventLogModule = typeof import('../../src/observe/event-log.ts');
type FilesModule = typeof import('../../src/store/file-store.ts');
type RecordModule = typeof import('../../src/store/record.ts');
type LoadModule = typeof import('../../src/config/load.ts');
type SpecHashModule = typeof import('../../src/config/spec-hash.ts');
type RecordFilesModule = typeof import('../../src/store/record-files.ts');

export interface Shipped {
  /** The command line. */
  readonly main: string;
  readonly openEventLog: EventLogModule['openEventLog'];
  readonly openFilesStore: FilesModule['openFilesStore'];
  readonly decodeRecord: RecordModule['decodeRecord'];
  readonly fileOf: RecordFilesModule['fileOf'];
  /** The file of a record about a server, given its config entry and where its config is. */
  recordOf(collection: string, entry: object, baseDir: string): string;
}

export async function shippedIn(build: string): Promise<Shipped> {
  const folder = resolve(build);
  const load = (file: string) => import(pathToFileURL(join(folder, file)).href);
  const { openEventLog } = (await load('observe/event-log.js')) as EventLogModule;
  const { openFilesStore } = (await load('store/file-store.js')) as FilesModule;
  const { decodeRecord } = (await load('store/record.js')) as RecordModule;
  const { fileOf } = (await load('store/record-files.js')) as RecordFilesModule;
  const { configFromObject } = (await load('config/load.js')) as LoadModule;
  const { specHash } = (await load('config/spec-hash.js')) as SpecHashModule;
  const recordOf = (collection: string, entry: object, baseDir: string) => {
    const { config } = configFromObject({ mcpServers: { it: entry } }, { baseDir, env: {} });
    const server = config.mcpServers['it'];
    if (server === undefined) throw new Error('this entry cannot be run');
    return fileOf(collection, specHash(server));
  };
  const main = join(folder, 'cli', 'main.js');
  return { main, openEventLog, openFilesStore, decodeRecord, fileOf, recordOf };
}
