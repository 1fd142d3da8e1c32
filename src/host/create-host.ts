// A host on the real world: the system clock, real processes, real sockets, and a state directory
// if one is given. Without one nothing is written to disk, which is what a program that embeds the
// library expects.

import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { configFromObject, loadConfig, realConfigPath } from '../config/load.ts';
import type { LoadedConfig } from '../config/loaded.ts';
import type { ServerConfig } from '../config/schema.ts';
import { ignored } from '../kernel/contain.ts';
import { Fault } from '../kernel/fault.ts';
import { ownValue } from '../kernel/own-value.ts';
import { Scope } from '../kernel/scope.ts';
import { systemClock } from '../kernel/system-clock.ts';
import { openEventLog } from '../observe/event-log.ts';
import { EventHub } from '../observe/events.ts';
import { openFilesStore } from '../store/file-store.ts';
import { MemoryStore } from '../store/memory-store.ts';
import type { Store } from '../store/store.ts';
import { type Environment, processEnvironment } from '../supervise/process/start/environment.ts';
import { createSpawner } from '../supervise/process/start/spawn.ts';
import { LazyHttpClient } from '../upstream/http/lazy-http-client.ts';
import { withHealthOf } from './disk-health.ts';
import { Host } from './host.ts';
import { ownIdentity } from './identity.ts';

export interface HostOptions {
  /** A config file; instead of the keys of one. */
  readonly configFile?: string;
  /** Where eras, events and the record against orphans are kept; nowhere if absent. */
  readonly stateDir?: string;
  /** What relative paths start from; the working directory if absent. */
  readonly baseDir?: string;
  /** Shown in status. */
  readonly startedBy?: string;
  /** Told of what could not be written to disk; standard error if absent. */
  readonly report?: (line: string) => void;
  /** The servers and every other key of the config file. */
  readonly mcpServers?: Readonly<Record<string, unknown>>;
  readonly [key: string]: unknown;
}

/** Makes a host. Lazy servers wait for their first call; the others are started at once. */
export async function createHost(options: HostOptions = {}): Promise<Host> {
  const { configFile, stateDir, baseDir, startedBy, report, ...input } = options;
  const env = processEnvironment();
  const folder = baseDir ?? process.cwd();
  const loaded =
    configFile === undefined
      ? configFromObject(input, { baseDir: folder, env })
      : loadConfig({ file: configFile, cwd: folder, env });
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

export interface HostSurroundings {
  readonly env: Environment;
  readonly folder: string;
  readonly stateDir: string | null;
  readonly startedBy: string;
  readonly report: (line: string) => void;
  /** Clients will stand behind it: it is to be a gateway. */
  readonly hasClients?: boolean;
}

/** A host for a config that has been read; nothing is started yet. */
export function hostFrom(loaded: LoadedConfig, around: HostSurroundings): Host {
  const scope = new Scope();
  try {
    return hostIn(scope, loaded, around);
  } catch (error) {
    // What was opened so far belongs to nobody else.
    scope[Symbol.asyncDispose]().catch(ignored);
    throw error;
  }
}

function hostIn(scope: Scope, loaded: LoadedConfig, around: HostSurroundings): Host {
  const { stateDir, env, report } = around;
  const clock = systemClock;
  const instance = randomBytes(8).toString('hex');
  const events = new EventHub(clock.wallNow);
  const files = scope.own(openStore(stateDir, report));
  let store: Store = files;
  if (stateDir !== null && loaded.config.telemetry.eventLog) {
    const { maxBytes } = loaded.config.telemetry;
    const complain = ({ detail }: { readonly detail: string }) => report(detail);
    const common = { config: realConfigPath(loaded.file) };
    const log = scope.own(openEventLog(stateDir, maxBytes, { clock, report: complain, common }));
    store = withHealthOf(files, () => log.health());
    const subscription = events.subscribe((event) => log.append(event));
    scope.defer(() => subscription[Symbol.dispose]());
  }
  const http = scope.own(new LazyHttpClient());
  const spawner = scope.own(
    createSpawner({ clock, instance, stateDir, sourceEnv: env, notice: report }),
  );
  return new Host({
    edges: { clock, random: Math.random, spawn: spawner.spawn, http, sourceEnv: env },
    config: loaded.config,
    configFile: loaded.file,
    disabled: loaded.disabled,
    store,
    identity: ownIdentity(),
    instance,
    startedBy: around.startedBy,
    events,
    hasClients: around.hasClients ?? false,
    processors: availableParallelism(),
    readEntry: (name, entry) => readEntry(name, entry, around),
    release: () => scope[Symbol.asyncDispose](),
  });
}

function openStore(stateDir: string | null, report: (line: string) => void): Store {
  if (stateDir === null) return new MemoryStore({ clock: systemClock });
  return openFilesStore(join(stateDir, 'store'), {
    clock: systemClock,
    report: (problem) => report(problem.detail),
  });
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
