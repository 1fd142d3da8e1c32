// A host for the length of one command: made from the config file, closed whatever happens, so that
// nothing which was started for a command outlives it. Loading the host takes longer than everything
// else a short command does; it is imported here, when it is needed, and nowhere at the top of a file.

import type { LoadedConfig } from '../config/loaded.ts';
import type { HostForCommands } from '../host/command-face.ts';
import type { OpenedHost } from '../host/create-host.ts';
import type { HostForGateway } from '../host/gateway-face.ts';
import { contain } from '../kernel/contain.ts';
import type { HostEvent } from '../observe/events.ts';
import { eventText } from './render/timeline.ts';
import { complain, remark, type Shell } from './shell.ts';
import { ownStateDirectory, usableStateDirectory } from './state-directory.ts';

export interface Standalone {
  readonly host: HostForCommands;
  /** The same host, for what a gateway would say. */
  readonly gatewayHost: HostForGateway;
  readonly loaded: LoadedConfig;
}

export interface HostOptions {
  /** Only looks: nothing is written to the state directory. */
  readonly isReadOnly?: boolean;
  /** Clients will stand behind it. */
  readonly hasClients?: boolean;
  /** Told of everything that happens to the servers. */
  readonly onEvent?: (event: HostEvent) => void;
}

export interface StandaloneOptions extends HostOptions {
  /** What `--config` names. */
  readonly configFile: string | undefined;
}

/** Runs the work and ends the host. An interrupt ends the work first, or else stops waiting for it. */
export async function withHost<T>(
  shell: Shell,
  options: StandaloneOptions,
  work: (standalone: Standalone) => Promise<T>,
): Promise<T> {
  const loaded = await loadedConfig(shell, options.configFile);
  return await withHostOf(shell, loaded, options, work);
}

/** The same with a config that is there already. */
export async function withHostOf<T>(
  shell: Shell,
  loaded: LoadedConfig,
  options: HostOptions,
  work: (standalone: Standalone) => Promise<T>,
): Promise<T> {
  const host = await openHost(shell, loaded, options);
  try {
    return await untilInterrupted(shell, work({ host, gatewayHost: host, loaded }));
  } finally {
    await host.close();
  }
}

/** A host that its caller closes. */
export async function openHost(
  shell: Shell,
  loaded: LoadedConfig,
  options: HostOptions,
): Promise<OpenedHost> {
  const { hostFrom } = await import('../host/create-host.ts');
  const host = hostFrom(loaded, {
    env: shell.env,
    folder: shell.cwd,
    stateDir: await stateDirectoryFor(shell, options),
    startedBy: options.hasClients === true ? 'serve' : 'command',
    hasClients: options.hasClients ?? false,
    report: (line) => remark(shell, line),
  });
  listen(host, shell, options.onEvent);
  return host;
}

/** A short command does without a disk that fails; a gateway outlives the failure and goes on trying. */
async function stateDirectoryFor(shell: Shell, options: HostOptions): Promise<string | null> {
  if (options.isReadOnly === true) return null;
  const usable = await usableStateDirectory(shell);
  return options.hasClients === true ? await ownStateDirectory(shell) : usable;
}

export async function loadedConfig(shell: Shell, file: string | undefined): Promise<LoadedConfig> {
  const { loadConfig } = await import('../config/load.ts');
  const loaded = loadConfig({ file, cwd: shell.cwd, env: shell.env });
  if (shell.logs('info')) for (const notice of loaded.notices) complain(shell, notice);
  return loaded;
}

/** Work that hears of an interrupt itself gets this long to end in its own words. */
const lastWordsMs = 500;

/** Thrown where an interrupt ended the waiting; the exit code is the signal's. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

/** The work's outcome, unless an interrupt comes first and the work does not end by itself. */
async function untilInterrupted<T>(shell: Shell, work: Promise<T>): Promise<T> {
  const { interrupt, clock } = shell;
  const tooLate = interrupt.arrived.then(
    () =>
      new Promise<never>((_resolve, reject) => {
        clock.after(lastWordsMs, () => reject(new Interrupted('interrupted')), true);
      }),
  );
  return await Promise.race([work, tooLate]);
}

/**
 * For work that has nothing to say about an interrupt: it ends the waiting at once, and what becomes of the
 * work afterwards, while its servers are being stopped, is nobody's fault and is not told.
 */
export async function orInterrupted<T>({ interrupt }: Shell, work: Promise<T>): Promise<T> {
  const interrupted = interrupt.arrived.then(() => {
    throw new Interrupted('interrupted');
  });
  return await Promise.race([work, interrupted]);
}

function listen(
  host: HostForCommands,
  shell: Shell,
  onEvent: ((event: HostEvent) => void) | undefined,
): void {
  const isLogged = shell.logs('info');
  if (!isLogged && onEvent === undefined) return;
  const show = (event: HostEvent) => {
    onEvent?.(event);
    if (isLogged && (event.kind !== 'call' || shell.logs('debug'))) {
      complain(shell, `${event.server} ${eventText(event)}`);
    }
  };
  const caught = (error: unknown) => remark(shell, `an event cannot be shown: ${error}`);
  host.onEvent((event) => contain(() => show(event), caught));
}
