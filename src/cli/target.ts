// What a command works on: the running instance of its config, or, if none runs, a host of its own for
// the duration of the command. A command that cannot do without an instance says so. A config that cannot
// be used now does not lock anybody out of an instance that runs with the config before.

import { realConfigPath } from '../config/config-path.ts';
import type { LoadedConfig } from '../config/loaded.ts';
import { ownIdentity } from '../host/identity.ts';
import type { ControlClient } from '../instance/control-client.ts';
import type { InstanceOperations, InstanceStatus, Operations } from '../instance/operations.ts';
import { type InstancePlace, instancePlace } from '../instance/place.ts';
import type { Clock } from '../kernel/clock.ts';
import { Fault } from '../kernel/fault.ts';
import { reportedAtOnce } from './command-failure.ts';
import type { Invocation } from './invocation.ts';
import { remark, type Shell } from './shell.ts';
import {
  type CommandHostOptions,
  loadedConfig,
  untilInterrupted,
  withHostOf,
} from './standalone.ts';
import { ownStateDirectory } from './state-directory.ts';

export interface Target {
  readonly operations: Operations;
  /** The config as it is now; undefined if it cannot be used, and an instance runs with the one before. */
  readonly loaded: LoadedConfig | undefined;
  /** The running instance; undefined: the host is this command's own. */
  readonly instance: InstanceOperations | undefined;
}

/** Runs the work, reports its failure, and lets go of the instance or closes the host. */
export async function withTarget<T>(
  invocation: Invocation,
  options: CommandHostOptions,
  work: (target: Target) => Promise<T>,
): Promise<T> {
  const { shell, configFile } = invocation;
  const { file, loaded, problem } = await configOf(shell, configFile);
  using client = await joined(shell, file);
  if (client !== undefined) {
    if (problem) tellOlderConfig(shell, problem.message);
    return await remotely(invocation, loaded, client, work);
  }
  if (loaded === undefined) throw problem;
  const { hostOperations } = await import('../instance/host-operations.ts');
  return await withHostOf(invocation, loaded, options, ({ host }) =>
    work({ operations: hostOperations(host), loaded, instance: undefined }),
  );
}

/**
 * The same for work that needs a running instance. Throws `unavailable` if there is none. Work that `readsConfig`
 * reports what is wrong with the file itself.
 */
export async function withInstance<T>(
  invocation: Invocation,
  work: (instance: InstanceOperations, file: string | null) => Promise<T>,
  { readsConfig = false } = {},
): Promise<T> {
  const { shell, configFile } = invocation;
  const { file, problem } = await configOf(shell, configFile);
  using client = await joined(shell, file);
  if (client === undefined) {
    const unreachable = await unreachableFault(shell, file);
    if (unreachable) throw unreachable;
    if (problem) throw problem;
    const of = file === null ? '' : ` of ${file}`;
    throw new Fault('unavailable', `no instance${of} is running; start one with: holdfast serve`);
  }
  if (problem && !readsConfig) tellOlderConfig(shell, problem.message);
  const { remoteInstance } = await import('../instance/remote-instance.ts');
  return await reportedAtOnce(invocation, () =>
    untilInterrupted(shell, work(remoteInstance(client), file)),
  );
}

/** For work with an instance whose config file cannot be used now. */
export function tellOlderConfig(shell: Shell, problem: string): void {
  remark(shell, `the running instance uses the config before: ${problem}`);
}

/** How often it is looked whether there is an instance. */
const betweenInstancesMs = 500;

/** Resolves when there is an instance to join, or at the end. */
export async function nextInstance(
  shell: Shell,
  file: string | null,
  end: AbortSignal,
): Promise<void> {
  while (!end.aborted) {
    if ((await instanceStatus(shell, file)) !== undefined) return;
    await pause(shell.clock, betweenInstancesMs, end);
  }
}

/** What `status` needs of either. */
export interface StatusTarget {
  readonly operations: Operations;
  readonly file: string | null;
  /** It is a running instance. */
  readonly isLive: boolean;
  /** The config as it is now; undefined if it cannot be used. */
  readonly loaded?: LoadedConfig | undefined;
  /** Why it cannot be used. */
  readonly problem?: Fault | undefined;
  /** A process is the instance, and cannot be asked now: it is ending (`draining`) or starting. */
  readonly unreachable?: Fault | undefined;
}

/** The instance, whatever its config file looks like now; or else a host that starts nothing. */
export async function withStatusTarget<T>(
  invocation: Invocation,
  work: (target: StatusTarget) => Promise<T>,
): Promise<T> {
  const { shell } = invocation;
  const { file, problem, loaded } = await configOf(shell, invocation.configFile);
  let unreachable: Fault | undefined;
  using client = await joined(shell, file).catch((error: unknown) => {
    if (!(error instanceof Fault) || error.code !== 'draining') throw error;
    unreachable = error;
    return undefined;
  });
  if (client !== undefined) {
    const { remoteInstance } = await import('../instance/remote-instance.ts');
    const operations = remoteInstance(client);
    const asked = work({ operations, file, isLive: true, loaded, problem });
    return await untilInterrupted(shell, asked);
  }
  unreachable ??= await unreachableFault(shell, file);
  if (loaded === undefined) throw unreachable ?? problem;
  const { hostOperations } = await import('../instance/host-operations.ts');
  return await withHostOf(invocation, loaded, { isReadOnly: true }, ({ host }) =>
    work({ operations: hostOperations(host), file, isLive: false, loaded, unreachable }),
  );
}

interface FoundConfig {
  readonly file: string | null;
  /** Undefined if it cannot be used. */
  readonly loaded?: LoadedConfig;
  /** Why it cannot be used, though it is known which one is meant. */
  readonly problem?: Fault;
}

/** Throws a Fault if it is not known which config is meant. */
async function configOf(shell: Shell, named: string | undefined): Promise<FoundConfig> {
  try {
    const loaded = await loadedConfig(shell, named);
    return { file: loaded.file, loaded };
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    const { locatedConfig } = await import('../config/load.ts');
    const file = locatedConfig(named, shell.cwd, shell.env);
    if (file === undefined) throw thrown;
    return { file, problem: thrown };
  }
}

async function remotely<T>(
  invocation: Invocation,
  loaded: LoadedConfig | undefined,
  client: ControlClient,
  work: (target: Target & { readonly instance: InstanceOperations }) => Promise<T>,
): Promise<T> {
  const { remoteInstance } = await import('../instance/remote-instance.ts');
  const instance = remoteInstance(client);
  return await reportedAtOnce(invocation, () =>
    untilInterrupted(invocation.shell, work({ operations: instance, loaded, instance })),
  );
}

/** Undefined: no instance of this config runs. */
async function joined(shell: Shell, file: string | null): Promise<ControlClient | undefined> {
  if (file === null) return undefined;
  const { ControlClient, join } = await import('../instance/control-client.ts');
  const place = await placeOf(shell, file);
  if (place === undefined) return undefined;
  const { version: program } = ownIdentity();
  const { clock } = shell;
  try {
    const joins = () => join({ path: place.socket, clock, program, as: 'operator' });
    const connected = await joins();
    return connected && new ControlClient(connected, joins);
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'draining') throw error;
    // The same with its process and what helps.
    throw (await unreachableFault(shell, file)) ?? error;
  }
}

/** The status of the running instance; undefined if none can be reached. */
export async function instanceStatus(
  shell: Shell,
  file: string | null,
): Promise<InstanceStatus | undefined> {
  try {
    using client = await joined(shell, file);
    if (client === undefined) return undefined;
    const { remoteInstance } = await import('../instance/remote-instance.ts');
    return await remoteInstance(client).status();
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

/** A process is the instance, and cannot be joined: why, and what helps. Undefined if there is none. */
async function unreachableFault(shell: Shell, file: string | null): Promise<Fault | undefined> {
  const place = file === null ? undefined : await placeOf(shell, file);
  if (place === undefined) return undefined;
  const { unreachableFault } = await import('./held-instance.ts');
  return await unreachableFault(place);
}

/** Undefined if there can be no socket, and so no instance that could be reached. */
async function placeOf(shell: Shell, file: string): Promise<InstancePlace | undefined> {
  const stateDir = await ownStateDirectory(shell);
  try {
    return instancePlace(stateDir, realConfigPath(file) ?? file, shell.env);
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

/** Between two looks at something that changes; shorter if it is the end. */
export async function pause(clock: Clock, ms: number, end: AbortSignal): Promise<void> {
  if (end.aborted) return;
  await new Promise<void>((resolve) => {
    const wake = () => {
      timer[Symbol.dispose]();
      end.removeEventListener('abort', wake);
      resolve();
    };
    const timer = clock.after(ms, wake);
    end.addEventListener('abort', wake);
  });
}
