// A host for the duration of one command: created from the config file, and always closed, so that
// nothing started for a command outlives it. Loading the host takes longer than everything else a
// short command does, so it is imported here when it is needed, never at the top of a file.

import type { ReadConfig } from '../config/load.ts';
import type { LoadedConfig } from '../config/loaded.ts';
import type { HostForCommands } from '../host/command-face.ts';
import type { InstanceHolder, OpenedHost } from '../host/create-host.ts';
import type { HostForGateway } from '../host/gateway-face.ts';
import { ownIdentity } from '../host/identity.ts';
import type { RolloutState } from '../host/rollout-status.ts';
import { contain } from '../kernel/contain.ts';
import type { HostEvent } from '../observe/events.ts';
import type { KeyHolders } from '../policy/keyed-wait.ts';
import type { StoreOverRollout } from '../store/remote/store-over-rollout.ts';
import type { Store } from '../store/store.ts';
import { reportedAtOnce } from './command-failure.ts';
import { Interrupted } from './interrupt.ts';
import type { Invocation } from './invocation.ts';
import { eventText } from './render/timeline.ts';
import { complain, remark, type Shell } from './shell.ts';
import { usableStateDirectory } from './state-directory.ts';

export interface Standalone {
  readonly host: HostForCommands;
  /** The same host, with the interface for the gateway. */
  readonly gatewayHost: HostForGateway;
  readonly loaded: LoadedConfig;
}

export interface CommandHostOptions {
  /** Nothing is written to the state directory. */
  readonly isReadOnly?: boolean;
  /** It will serve clients, with this state directory. */
  readonly gateway?: {
    readonly stateDir: string | null;
    readonly database: string | null;
    readonly servesBroker: boolean;
    /** What several instances use together; it is closed with the host. */
    readonly sharedStore: Store | undefined;
    readonly replicas: KeyHolders | undefined;
    readonly startedBy: 'serve' | 'connect';
    /** What knows about rollouts; absent: there are none. */
    readonly rollouts?: RolloutState | undefined;
    /** What is kept, over rollouts. */
    readonly rollout?: StoreOverRollout | undefined;
    /** Resolves when clients can come. */
    readonly serving: Promise<unknown>;
    /** The parent of its servers, where that is another process. */
    readonly holder: InstanceHolder | undefined;
  };
  /** Called for every event of the servers. */
  readonly onEvent?: (event: HostEvent) => void;
}

/**
 * Runs the work, reports its failure, and closes the host. An interrupt ends the work first, or
 * else stops waiting for it.
 */
export async function withHostOf<T>(
  invocation: Invocation,
  loaded: LoadedConfig,
  options: CommandHostOptions,
  work: (standalone: Standalone) => Promise<T>,
): Promise<T> {
  const { shell } = invocation;
  const host = await openHost(shell, loaded, options);
  const run = () => untilInterrupted(shell, work({ host, gatewayHost: host, loaded }));
  try {
    return await reportedAtOnce(invocation, run);
  } finally {
    await host.close();
  }
}

/** A host that its caller closes. */
export async function openHost(
  shell: Shell,
  loaded: LoadedConfig,
  options: CommandHostOptions,
): Promise<OpenedHost> {
  const { hostFrom } = await import('../host/create-host.ts');
  const { trackClaims } = await import('../instance/track-claim.ts');
  const host = hostFrom(loaded, {
    env: shell.env,
    folder: shell.cwd,
    stateDir: options.gateway ? options.gateway.stateDir : await stateDirectoryFor(shell, options),
    database: options.gateway?.database ?? null,
    servesBroker: options.gateway?.servesBroker,
    sharedStore: options.gateway?.sharedStore ?? null,
    replicas: options.gateway?.replicas,
    rollout: options.gateway?.rollout,
    rollouts: options.gateway?.rollouts,
    ...(options.gateway && { serving: options.gateway.serving }),
    holder: options.gateway?.holder,
    claimTrack: trackClaims(ownIdentity().version, () => shell.clock.wallNow()),
    startedBy: options.gateway?.startedBy ?? 'command',
    hasClients: options.gateway !== undefined,
    report: (line) => remark(shell, line),
  });
  listen(host, shell, options.onEvent);
  return host;
}

/** A short command works without a failing disk. */
async function stateDirectoryFor(
  shell: Shell,
  { isReadOnly }: CommandHostOptions,
): Promise<string | null> {
  return isReadOnly === true ? null : await usableStateDirectory(shell);
}

export async function loadedConfig(shell: Shell, file: string | undefined): Promise<ReadConfig> {
  const { loadConfig } = await import('../config/load.ts');
  const loaded = loadConfig({ file, cwd: shell.cwd, env: shell.env });
  if (shell.logs('info')) for (const notice of loaded.notices) complain(shell, notice);
  return loaded;
}

/** Work that handles an interrupt itself gets this long to end. */
const lastWordsMs = 500;

/** The work's outcome, unless an interrupt comes first and the work does not end by itself. */
export async function untilInterrupted<T>(shell: Shell, work: Promise<T>): Promise<T> {
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
 * For work that does not handle an interrupt: it ends the waiting at once. Failures of the work
 * afterwards, while its servers are being stopped, are not reported.
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
