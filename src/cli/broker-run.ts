// Runs the embedded broker until a signal comes: its directory is locked, the database opened, the credentials are
// read and followed, and links are let in. It never keeps letters in memory instead of a database: what it
// confirms would be untrue.

import { CredentialTable } from '../broker/credentials/credential-table.ts';
import { Hub } from '../broker/hub/hub.ts';
import { type HubServer, startHubServer } from '../broker/socket/hub-server.ts';
import { stateOfFiles, stateOfFilesIn } from '../config/file-state.ts';
import {
  addressText,
  type ListenAddress,
  listenAddress,
  listenFault,
  reachedAt,
} from '../downstream/http/access/listen-address.ts';
import { causeOf } from '../kernel/disk-remedy.ts';
import { errnoOf } from '../kernel/errno.ts';
import { Fault } from '../kernel/fault.ts';
import { makePrivateFolder } from '../kernel/private-folder.ts';
import {
  causeOfFailure,
  openedOrFailed,
  remedyOfFailure,
} from '../store/sqlite/open-sqlite-store.ts';
import type { Store } from '../store/store.ts';
import { brokerLock } from './broker-lock.ts';
import { markDatabase, missingDatabase } from './broker-mark.ts';
import { type BrokerPlace, brokerPlace, credentialStore, credentialsIn } from './broker-place.ts';
import { assertLoopback, type TlsFiles, type TlsOptions, tlsFiles } from './broker-tls.ts';
import { exitCodes } from './exit-codes.ts';
import { DescriptorShortage, followedCredentials } from './followed-credentials.ts';
import { assertPrivateTokens } from './gateway/safe-start.ts';
import { TokenWatch } from './gateway/token-watch.ts';
import type { Invocation } from './invocation.ts';
import { complain, remark, type Shell } from './shell.ts';
import { shellWord } from './shell-word.ts';

export interface BrokerOptions extends TlsOptions {
  readonly listen: string;
  readonly dir?: string;
}

/** The store has said which files, and what to do. */
const notWhole =
  'not all credentials could be read: letters of workers that are not known are kept and wait until they can be';
/** Entries of the log of letters; the hub limits the letters themselves. */
const maxEntries = 2_000_000;

export async function runBroker(
  { shell, configFile, isJson }: Invocation,
  options: BrokerOptions,
): Promise<number> {
  const { clock, interrupt, out } = shell;
  const address = listenAddress(options.listen);
  const tls = await tlsFiles(options);
  if (tls === undefined) assertLoopback(address);
  const place = await brokerPlace(shell, options.dir, configFile);
  const lock = await lockedFolder(shell, place);
  try {
    await using store = await databaseOf(shell, place);
    const shortage = new DescriptorShortage();
    await using credentials = credentialStore(shell, place, (problem) => shortage.heard(problem));
    const table = new CredentialTable(credentialsIn(credentials), clock);
    if (!(await table.read())) remark(shell, notWhole);
    const hub = await openHub(shell, store, table);
    const caught = caughtBy(shell);
    const server = await listening(shell, { hub, table, address, tls });
    using _following = new TokenWatch({
      clock,
      tokens: followedCredentials({ table, hub, shortage, makeRoom: () => server.makeRoom() }),
      uses: undefined,
      stateOfFolders: () => stateOfFiles([place.credentials]),
      stateOfRecords: () => stateOfFilesIn([place.credentials]),
      ended: () => hub.credentialsChanged(),
      caught,
    });
    const listen = { host: server.address.address, port: server.address.port };
    const url = `${tls === undefined ? 'ws' : 'wss'}://${reachedAt(listen)}/`;
    if (isJson) out.json({ url, listen: addressText(listen), pid: process.pid });
    else {
      out.line(
        `The broker listens on ${shownAt(url, listen)} and keeps its letters in ${place.folder}`,
      );
      if (table.principals.length === 0) out.line(shell.steps(noCredentials(options.dir)));
    }
    await interrupt.arrived;
    await hub.close();
    await server.close();
    return exitCodes.ok;
  } finally {
    await lock.release();
  }
}

/** An address that stands for all is shown as it is, with one that can be reached from here. */
function shownAt(url: string, listen: ListenAddress): string {
  const text = addressText(listen);
  return reachedAt(listen) === text ? url : `${text} (on this machine: ${url})`;
}

function noCredentials(dir: string | undefined): string {
  const where = dir === undefined ? '' : ` --dir ${shellWord(dir)}`;
  return `Nobody can connect yet. Make credentials with: holdfast token add --orchestrator NAME${where}, and holdfast token add --worker NAME --role ROLE --to ORCHESTRATOR${where}`;
}

async function lockedFolder({ clock }: Shell, { folder, credentials }: BrokerPlace) {
  try {
    await makePrivateFolder(folder);
    await assertPrivateTokens([credentials], process.getuid?.());
    return await brokerLock(folder, clock);
  } catch (error) {
    const code = errnoOf(error);
    if (code === undefined) throw error;
    throw new Fault(
      'unavailable',
      `the directory ${folder} cannot be used (${causeOf(code)}): make it writable for this user, or name another one with --dir DIR`,
      {},
      error,
    );
  }
}

async function databaseOf(shell: Shell, place: BrokerPlace): Promise<Store> {
  const { database: file } = place;
  const report = ({ detail }: { readonly detail: string }) => remark(shell, detail);
  const missing = missingDatabase(place);
  const opened = await openedOrFailed(file, { clock: shell.clock, report });
  if (opened.kind === 'opened') {
    if (missing !== undefined) remark(shell, missing);
    await markDatabase(place);
    return opened.store;
  }
  const usual =
    'free space on that disk and make it writable for this user, or name another directory with --dir DIR';
  throw new Fault(
    'unavailable',
    `the broker cannot start, because ${file} cannot be used (${causeOfFailure(opened)}): ${remedyOfFailure(opened, usual)}`,
  );
}

function openHub(shell: Shell, store: Store, table: CredentialTable): Promise<Hub> {
  return Hub.open({
    clock: shell.clock,
    letters: store.log('letters', { durability: 'durable', maxEntries }),
    aside: store.log('aside', { durability: 'durable' }),
    stores: store.records('stores', { durability: 'durable' }),
    ownerOf: (mailbox) => table.ownerOf(mailbox),
    areAllKnown: () => table.wasWhole,
    report: (text) => remark(shell, text),
  });
}

interface Listening {
  readonly hub: Hub;
  readonly table: CredentialTable;
  readonly address: ListenAddress;
  readonly tls: TlsFiles | undefined;
}

async function listening(
  shell: Shell,
  { hub, table, address, tls }: Listening,
): Promise<HubServer> {
  let server: HubServer;
  try {
    server = await startHubServer({
      hub,
      clock: shell.clock,
      caught: caughtBy(shell),
      ...address,
      tls,
      authenticate: (secret) => table.authenticate(secret),
      report: (text) => remark(shell, text),
    });
  } catch (error) {
    throw listenFault(address, error, undefined, 'broker');
  }
  try {
    // A name may lead anywhere.
    const { address: host, port } = server.address;
    if (tls === undefined) assertLoopback({ host, port });
    return server;
  } catch (error) {
    await server.close();
    throw error;
  }
}

function caughtBy(shell: Shell): (error: unknown) => void {
  return (error) => {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    complain(shell, `an unexpected error in the broker: ${text}`);
  };
}
