// The host's interface for commands: what every program may use (host.ts), and the few things that
// only the command line needs. Everything here is in plain values, so that it could also be
// requested from a host in another process.

import type { LoadedConfig } from '../config/loaded.ts';
import type { ConfigPlan } from '../config/plan.ts';
import type { Config, ServerConfig } from '../config/schema.ts';
import type { Fault } from '../kernel/fault.ts';
import type { HostEvent } from '../observe/events.ts';
import type { OutputPage } from '../observe/server-output.ts';
import type { AppliedConfig } from './apply.ts';
import type { KeptMark } from './discovery.ts';
import type { Host } from './host.ts';
import type { ServerStatus } from './status.ts';

export interface HostForCommands extends Host {
  /** The same as `apply`, for a config that has been read. */
  applyLoaded(config: LoadedConfig): Promise<AppliedConfig>;
  /** What `applyLoaded` would do; nothing is changed. */
  planFor(config: LoadedConfig): ConfigPlan;
  /** The config that applies now; settings that need a restart of the host are unchanged. */
  readonly config: Config;
  /** Starts every server that is not lazy, without waiting for any. */
  startPinned(): void;
  /** Calls the listener with every event, at once and without a queue; it must not throw. */
  onEvent(listener: (event: HostEvent) => void): Disposable;
  /**
   * Throws what a call to this server would throw because of its name: `not_found` or `invalid_request`, or `denied` if
   * the local user has a role that does not see it.
   */
  requireServer(name: string): void;
  /**
   * The fault for a tool that the server does not have: with the nearest names, or that other clients are offered
   * it, according to stored lists. Throws as `requireServer` does.
   */
  unknownTool(server: string, tool: string): Promise<Fault>;
  /**
   * The capabilities of the clients that this tool of a stored list was listed to, if a command may not be offered
   * it. Throws as `requireServer` does.
   */
  capabilitiesBehind(server: string, tool: string): readonly string[];
  /** The names of its tools, now or as stored; undefined if there is no list. Starts nothing. Throws as `requireServer` does. */
  knownTools(server: string): Promise<readonly string[] | undefined>;
  /** What the config has for its tools, without those that the local user's role hides. Throws as `requireServer` does. */
  shownEntry(server: string): Pick<ServerConfig, 'tools' | 'trusted'>;
  /** What its processes have written that is not MCP, from this place on; for operators. Throws as `requireServer` does. */
  output(server: string, place: number): OutputPage;
  /** The state of one server. Throws as `requireServer` does. */
  serverStatus(name: string): ServerStatus;
  /** When the tools of this server that are known were read, if not by this host. Throws as `requireServer` does. */
  keptMark(name: string): KeptMark | undefined;
  /** Waits for a turn to start this server, where many are started one after another. Throws as `requireServer` does. */
  startTurn(name: string): Promise<Disposable>;
}
