// Creates a host with the system clock, real processes, real sockets, and a state directory if one
// is given. Without one nothing is written to disk, which is what a program that embeds the library
// expects.

import { createHmac, randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { nodeAuditDisk } from '../audit/audit-disk.ts';
import { AuditTrail } from '../audit/audit-trail.ts';
import { type ClaimTrack, openAuditLog } from '../audit/open-track.ts';
import { isStoredEpoch } from '../cache/shared-epochs.ts';
import type { SharedPlace } from '../cache/shared-results.ts';
import type { ConfigInput } from '../config/config-input.ts';
import { keyFileOf, realConfigPath } from '../config/config-path.ts';
import { configFromObject, loadConfig } from '../config/load.ts';
import type { LoadedConfig } from '../config/loaded.ts';
import type { ServerConfig } from '../config/schema.ts';
import { auditFolderOf } from '../config/state-folder.ts';
import { type Caught, ignored } from '../kernel/contain.ts';
import { Fault } from '../kernel/fault.ts';
import { ownValue } from '../kernel/own-value.ts';
import { Scope } from '../kernel/scope.ts';
import { readSecretFile } from '../kernel/secret-file.ts';
import { machineTime, systemClock } from '../kernel/system-clock.ts';
import { openEventLog } from '../observe/event-log.ts';
import { EventHub, type HostEvent } from '../observe/events.ts';
import type { KeyedStore } from '../policy/idempotency.ts';
import { KeyedRecords } from '../policy/keyed-records.ts';
import type { KeyHolders } from '../policy/keyed-wait.ts';
import { MarkedKeys } from '../policy/marked-keys.ts';
import { maxAccounts } from '../policy/role-budgets/account-book.ts';
import { isStoredCount } from '../policy/role-budgets/stored-count.ts';
import { isStoredKey } from '../policy/stored-key.ts';
import type { Records } from '../store/contract/records.ts';
import { withHealthOf } from '../store/disk-health.ts';
import { openFilesStore } from '../store/file-store.ts';
import { keyFrom } from '../store/key-file.ts';
import { MemoryStore } from '../store/memory-store.ts';
import { ownerStore } from '../store/owner-store.ts';
import type { StoreProblem } from '../store/problem.ts';
import type { StoreOverRollout } from '../store/remote/store-over-rollout.ts';
import { sealedRecords } from '../store/sealed-records.ts';
import { openMemoryInstead } from '../store/sqlite/instance-store.ts';
import { openSqliteStore } from '../store/sqlite/open-sqlite-store.ts';
import type { Store } from '../store/store.ts';
import { type Environment, processEnvironment } from '../supervise/process/start/environment.ts';
import type { ProcessHolder } from '../supervise/process/start/process-starter.ts';
import { createSpawner } from '../supervise/process/start/spawn.ts';
import { LazyHttpClient } from '../upstream/http/lazy-http-client.ts';
import type { HostAudit } from './call/call-audit.ts';
import type { HostForCommands } from './command-face.ts';
import type { HostForGateway } from './gateway-face.ts';
import type { RestoredHost } from './handover/handed-host.ts';
import type { Host } from './host.ts';
import { HostCore } from './host-core.ts';
import type { SharedResultRecords } from './host-parts.ts';
import { ownIdentity } from './identity.ts';
import type { RolloutState } from './rollout-status.ts';
import { containedClock } from './servers/contained-edges.ts';
import type { Edges } from './servers/server-parts.ts';

/** The keys of a config, or the file that holds one; and options of the host itself. */
export interface HostOptions extends ConfigInput {
  /** A config file to read; keys of a config beside it are refused. Absent: the keys are the config. */
  readonly configFile?: string | undefined;
  /**
   * The directory for what is kept on disk: the event log, lists and protocol versions of servers, and the
   * record by which processes left over from a crash are found. Absent: nothing is written to disk.
   */
  readonly stateDir?: string | undefined;
  /** The directory that relative paths start from. Absent: the working directory. */
  readonly baseDir?: string | undefined;
  /** Shown in `status`. Absent: `library`. */
  readonly startedBy?: string | undefined;
  /** Called with one line for each problem with the disk. Absent: the line goes to standard error. */
  readonly report?: ((line: string) => void) | undefined;
}

/**
 * Makes a host. Lazy servers are started by their first call, the others at once, without waiting for them.
 *
 * Throws a `Fault` with the code `invalid_request` for a config that cannot be used; its message names each
 * problem and the place.
 */
export async function createHost(options: HostOptions = {}): Promise<Host> {
  assertObject(options);
  const { stateDir, baseDir, startedBy, report } = options;
  const env = processEnvironment();
  const folder = baseDir ?? process.cwd();
  const loaded = readConfig(options, { env, folder });
  const host = hostFrom(loaded, {
    env,
    folder,
    stateDir: stateDir ?? null,
    startedBy: startedBy ?? 'library',
    report: report ?? ((line) => void process.stderr.write(`${line}\n`)),
  });
  host.startPinned();
  return host;
}

/** The pid-holder of a gateway, which gives its instance a name. */
export interface InstanceHolder extends ProcessHolder {
  readonly instance: string;
}

export interface HostSurroundings {
  readonly env: Environment;
  readonly folder: string;
  readonly stateDir: string | null;
  /** The file of the instance that this process is; null: it is none. */
  readonly database?: string | null;
  /** A broker may bring its calls again to the next process: without a database none is begun that must not run twice. */
  readonly servesBroker?: boolean | undefined;
  /** What is used in its place, with other instances; it is closed with the host. */
  readonly sharedStore?: Store | null;
  /** The other gateways that use it, and this one; without one, the processes of this instance in a rollout. */
  readonly replicas?: KeyHolders | undefined;
  /** What is kept goes to the next process of this instance, and came from the one before. */
  readonly rollout?: StoreOverRollout | undefined;
  /** How a process gets a track of the audit log for itself; absent: it has one that no other ever uses. */
  readonly claimTrack?: ClaimTrack;
  /** Resolves when clients can come: what is not needed for that is left until then. */
  readonly serving?: Promise<unknown>;
  /** The parent of its servers; absent: this process. */
  readonly holder?: InstanceHolder | undefined;
  readonly startedBy: string;
  /** What knows about rollouts of the program; absent: there are none. */
  readonly rollouts?: RolloutState | undefined;
  readonly report: (line: string) => void;
  /** It will serve clients, as a gateway. */
  readonly hasClients?: boolean;
  /** What that process has handed over, if that is known already; see `restore` of the gateway's face. */
  readonly restored?: RestoredHost | undefined;
  /** Servers that are reached in another way than their config says. */
  readonly connectors?: Edges['connectors'];
}

/** One host, for a command and for a gateway. */
export interface OpenedHost extends HostForCommands, HostForGateway {}

/** A host for a config that has been read; nothing is started yet. */
export function hostFrom(loaded: LoadedConfig, around: HostSurroundings): OpenedHost {
  const scope = new Scope();
  try {
    return hostIn(scope, loaded, around);
  } catch (error) {
    // What was opened so far is not referenced elsewhere.
    scope[Symbol.asyncDispose]().catch(ignored);
    throw error;
  }
}

function hostIn(scope: Scope, loaded: LoadedConfig, around: HostSurroundings): HostCore {
  const { stateDir, database = null, sharedStore = null, env, report } = around;
  const clock = systemClock;
  const { restored, holder } = around;
  const named = restored?.state.instance ?? holder?.instance;
  const instance = named ?? randomBytes(8).toString('hex');
  const events = new EventHub(clock.wallNow);
  const opened = scope.own(openStore(around));
  let store: Store = opened;
  let specOf: (server: string) => string | undefined = () => undefined;
  if (stateDir !== null && loaded.config.telemetry.eventLog) {
    const { maxBytes } = loaded.config.telemetry;
    const complain = ({ detail }: { readonly detail: string }) => report(detail);
    const common = { config: realConfigPath(loaded.file) };
    const log = scope.own(openEventLog(stateDir, maxBytes, { clock, report: complain, common }));
    store = withHealthOf(opened, () => log.health());
    const subscription = events.subscribe((event) => log.append(withSpec(event, specOf)));
    scope.defer(() => subscription[Symbol.dispose]());
  }
  const { audit } = loaded.config;
  const caught = (error: unknown) => void events.defects.caught('the audit log', error);
  const audited =
    audit === 'off'
      ? {}
      : { audit: openAudit(scope, audit, loaded, { ...around, instance, caught }) };
  const http = scope.own(new LazyHttpClient());
  const spawner = scope.own(
    createSpawner({
      ...{ clock, instance, stateDir, sourceEnv: env, notice: report },
      hidden: foldersOfInstances(stateDir, env),
      holder: around.holder,
    }),
  );
  const kept =
    database === null && sharedStore === null
      ? keptInMemory(scope, around)
      : {
          keyed:
            sharedStore === null
              ? durableKeys(store, loaded, around)
              : sharedKeys(store, loaded, around.replicas),
          spent: spentIn(store),
          isSpentShared: sharedStore !== null,
        };
  const sharedResults = sharedStore === null ? undefined : resultsIn(store, loaded);
  const core = new HostCore({
    ...kept,
    sharedResults,
    ...audited,
    edges: {
      clock,
      random: Math.random,
      spawn: spawner.spawn,
      http,
      sourceEnv: env,
      readSecret: readSecretFile,
      adopt: spawner.adopt,
      ...(around.connectors && { connectors: around.connectors }),
    },
    config: loaded.config,
    configFile: loaded.file,
    disabled: loaded.disabled,
    store,
    identity: ownIdentity(),
    instance,
    startedBy: around.startedBy,
    rollout: around.rollouts,
    events,
    hasClients: around.hasClients ?? false,
    processors: availableParallelism(),
    readEntry: (name, entry) => readEntry(name, entry, around),
    readConfig: (input) => readConfig(input, around),
    machineNow: machineTime,
    leave: () => spawner.leave(),
    release: () => scope[Symbol.asyncDispose](),
  });
  specOf = (server) => core.specOf(server);
  if (restored) core.restore(restored);
  return core;
}

/** Nothing is opened before the first call. */
function openAudit(
  scope: Scope,
  mode: HostAudit['mode'],
  loaded: LoadedConfig,
  around: HostSurroundings & { readonly instance: string; readonly caught: Caught },
): HostAudit {
  const { stateDir, report, claimTrack, startedBy, instance, caught, rollout } = around;
  // The former process of the instance writes its own track to its end, and no id of a call may be in both.
  const own = rollout?.former === undefined ? instance : randomBytes(8).toString('hex');
  const folder = stateDir && auditFolderOf(stateDir, realConfigPath(loaded.file));
  let gaps = 0;
  const open = async () => {
    if (folder === null) throw new Error('there is no state directory that can be used');
    return await openAuditLog({
      disk: nodeAuditDisk,
      clock: systemClock,
      folder,
      key: () => auditKey(loaded),
      claim: claimTrack ?? null,
      process: { process: own, pid: process.pid, program: ownIdentity().version, startedBy },
      report,
      gapFound: () => {
        gaps += 1;
      },
    });
  };
  const clock = containedClock(systemClock, caught);
  const options = { clock, open, folder: folder ?? '', report, process: own, caught };
  return { mode, trail: scope.own(new AuditTrail(options)), gaps: () => gaps, process: own };
}

/** With a key nobody can forge a line who has no key: it is never done without, where one can be had. */
async function auditKey({ config, file }: LoadedConfig): Promise<Buffer | null> {
  const keyFile = keyFileOf(config.keyFile, file);
  if (keyFile === null) return null;
  try {
    return await keyFrom(keyFile);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`${why}; set keyFile in the config`, { cause: error });
  }
}

/** A failure belongs to what the server was then; the fingerprint belongs into the state directory only. */
function withSpec(event: HostEvent, specOf: (server: string) => string | undefined): object {
  if (event.kind !== 'start-failed' && event.kind !== 'lost') return event;
  const spec = specOf(event.server);
  return spec === undefined ? event : { ...event, spec };
}

/** Where instances have their sockets and what they keep: none of a server's business. */
function foldersOfInstances(stateDir: string | null, env: Environment): readonly string[] {
  const runtimeDir = env['XDG_RUNTIME_DIR'];
  const shared = runtimeDir === undefined ? [] : [join(runtimeDir, 'holdfast')];
  return stateDir === null ? [] : [stateDir, ...shared];
}

function openStore(around: HostSurroundings): Store {
  const { stateDir, database = null, sharedStore = null, report, serving, rollout } = around;
  const mustOutlive = around.servesBroker;
  if (sharedStore !== null) rollout?.hasNothing();
  if (stateDir === null) return new MemoryStore({ clock: systemClock });
  const options = {
    clock: systemClock,
    report: ({ detail }: StoreProblem) => report(detail),
  };
  const files = openFilesStore(join(stateDir, 'store'), options);
  rollout?.hasFiles(files);
  if (sharedStore !== null) return ownerStore(files, sharedStore, true);
  if (database === null) return files;
  const opened = openSqliteStore(database, {
    ...{ ...options, mustOutlive, former: rollout?.former },
    ...(serving && { openAfter: serving }),
  });
  rollout?.hasDatabase(opened);
  return ownerStore(files, opened);
}

/** Without a database: idempotency keys and their answers go from process to process of the instance. */
function keptInMemory(
  scope: Scope,
  { rollout, replicas, report }: HostSurroundings,
): { readonly keyed?: KeyedStore } {
  if (rollout === undefined) return {};
  const store = scope.own(
    openMemoryInstead({
      clock: systemClock,
      report: ({ detail }: StoreProblem) => report(detail),
      former: rollout.former,
    }),
  );
  rollout.hasDatabase(store);
  const keys = store.records('keys', { durability: 'durable', shape: isStoredKey });
  const answers = store.records('key-answers', { durability: 'durable' });
  const parts = { clock: systemClock, keys, answers: async () => answers };
  return { keyed: new KeyedRecords({ ...parts, replicas }) };
}

/** What was spent of the budgets of roles. */
function spentIn(store: Store): Records {
  // More than are kept, because the one that makes room is removed in the same moment.
  const maxEntries = maxAccounts + 1_024;
  return store.records('spent', { durability: 'durable', shape: isStoredCount, maxEntries });
}

/** Public results for other replicas: payloads, and therefore encrypted. */
function resultsIn(store: Store, { config, file }: LoadedConfig): SharedResultRecords {
  const name = 'results';
  const options = { durability: 'forgetful', shared: true, maxEntries: maxSharedResults } as const;
  let opened: Promise<SharedPlace> | undefined;
  const open = async () => {
    const secret = await keyFrom(keyFileOf(config.keyFile, file) ?? 'holdfast.key');
    const keyOf = (id: string) =>
      createHmac('sha256', secret).update(`shared result ${id}`).digest('base64url');
    return { records: sealedRecords(store.records(name, options), name, secret), keyOf };
  };
  const place = () => {
    opened ??= open();
    return opened;
  };
  const epochs = store.records('epochs', {
    durability: 'durable',
    shape: isStoredEpoch,
    maxEntries: maxEpochs,
  });
  return { place, epochs };
}

/** One for each name of a server. */
const maxEpochs = 4_096;
/** Of 256 KiB at most each. */
const maxSharedResults = 2_048;

/**
 * Idempotency keys in the database. Their answers hold payloads: without a place for the key that encrypts
 * them they are kept in memory.
 */
function durableKeys(
  store: Store,
  { config, file }: LoadedConfig,
  { report, replicas }: HostSurroundings,
): KeyedStore {
  const keys = store.records('keys', { durability: 'durable', shape: isStoredKey });
  const name = 'key-answers';
  let answers: Promise<Records> | undefined;
  const open = async (): Promise<Records> => {
    try {
      const secret = await keyFrom(keyFileOf(config.keyFile, file) ?? 'holdfast.key');
      return sealedRecords(store.records(name, { durability: 'durable' }), name, secret);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      report(
        `${why}, so the answers of idempotency keys are kept in memory; set keyFile in the config`,
      );
      return store.records('key-answers-in-memory', { durability: 'process' });
    }
  };
  const opened = () => {
    answers ??= open();
    return answers;
  };
  return new KeyedRecords({ clock: systemClock, keys, answers: opened, replicas });
}

interface NamedRecords {
  readonly name: string;
  readonly records: Records;
}

/** Idempotency keys on a server that others can read: all of them is encrypted, and their names are keyed hashes. */
function sharedKeys(
  store: Store,
  { config, file }: LoadedConfig,
  replicas: KeyHolders | undefined,
): KeyedStore {
  // At once: who opens them first says what they hold, and others look for keys that are not encrypted.
  const opened = (name: string): NamedRecords => ({
    name,
    records: store.records(name, { durability: 'durable' }),
  });
  const [stored, storedAnswers] = [opened('keys'), opened('key-answers')];
  return new MarkedKeys(async () => {
    const secret = await keyFrom(keyFileOf(config.keyFile, file) ?? 'holdfast.key');
    const sealed = ({ name, records }: NamedRecords) => sealedRecords(records, name, secret);
    const answers = sealed(storedAnswers);
    const parts = { clock: systemClock, keys: sealed(stored), answers: async () => answers };
    return { store: new KeyedRecords({ ...parts, replicas }), secret };
  });
}

/**
 * The config of these options. Options of the host itself are not part of it, and cannot change
 * later.
 */
function readConfig(
  options: HostOptions,
  { env, folder }: Pick<HostSurroundings, 'env' | 'folder'>,
): LoadedConfig {
  assertObject(options);
  const {
    configFile,
    stateDir: _dir,
    baseDir,
    startedBy: _by,
    report: _report,
    ...input
  } = options;
  const from = baseDir ?? folder;
  if (configFile === undefined) return configFromObject(input, { baseDir: from, env });
  const beside = Object.entries(input).flatMap(([key, value]) => (value === undefined ? [] : key));
  if (beside.length > 0) {
    const told = `configFile is given, and ${beside.join(', ')} beside it; give the file or the keys, not both`;
    throw new Fault('invalid_request', told);
  }
  return loadConfig({ file: configFile, cwd: from, env });
}

/** A program without types may pass anything: a list or a number has no keys, and is no empty config. */
function assertObject(options: unknown): void {
  if (Object.prototype.toString.call(options) === '[object Object]') return;
  const told = 'the config is not an object; pass an object with mcpServers, or with configFile';
  throw new Fault('invalid_request', told);
}

/** One server's entry, by the rules of the config file and with its messages. */
function readEntry(
  name: string,
  entry: Readonly<Record<string, unknown>>,
  { env, folder }: HostSurroundings,
): ServerConfig {
  const input = { mcpServers: { [name]: entry } };
  const { config, disabled } = configFromObject(input, { baseDir: folder, env });
  const server = ownValue(config.mcpServers, name);
  if (server) return server;
  throw new Fault('invalid_request', `${name} cannot be run: ${disabled.get(name)}`, {
    server: name,
  });
}
