// What an operator can do with an instance, whether it is this process or another one: the interface that
// commands use. Everything is asynchronous and in plain values, so that it can be asked over the control
// socket. Every method throws a Fault as the method of the host does.

import type { ServerConfig } from '../config/schema.ts';
import type { RefusedCounts } from '../downstream/http/access/refused-requests.ts';
import type { AppliedConfig } from '../host/apply.ts';
import type { Progress } from '../host/call-result.ts';
import type { Discovered, KeptMark, Searched, ToolDefinition } from '../host/discovery.ts';
import type { HostStatus } from '../host/status.ts';
import type { Fault } from '../kernel/fault.ts';
import type { BrokerState } from '../observe/broker-state.ts';
import type { OutputPage } from '../observe/server-output.ts';
import type { DifferingWindow } from './control-server.ts';

export interface OperatorCall {
  /** JSON text: its bytes are what is sent. */
  readonly args: Uint8Array;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

export interface ListedTools {
  readonly definitions: readonly ToolDefinition[];
  /** When they were read, if not now. */
  readonly mark: KeptMark | undefined;
  /** What the config in use has for them; an older instance does not tell. */
  readonly entry?: Pick<ServerConfig, 'tools' | 'trusted'> | undefined;
}

/** The plan of a changed config, and what of it was done; nothing if it was only asked for. */
export interface ReloadedConfig extends AppliedConfig {
  readonly isDone: boolean;
}

export interface Operations {
  /** The result's bytes, as the server wrote them. */
  call(server: string, tool: string, call: OperatorCall): Promise<Buffer>;
  tools(server: string, options: { readonly kept: boolean }): Promise<ListedTools>;
  discover(options: { readonly kept: boolean }): Promise<readonly Discovered[]>;
  search(
    words: string,
    options: { readonly limit: number; readonly kept: boolean },
  ): Promise<Searched>;
  /** Throws if there is no such server. */
  requireServer(server: string): Promise<void>;
  /** The fault for a tool that the server does not have. */
  unknownTool(server: string, tool: string): Promise<Fault>;
  /** The capabilities of the clients that this tool was listed to, if a command may not be offered it. */
  capabilitiesBehind(server: string, tool: string): Promise<readonly string[]>;
  status(): Promise<InstanceStatus>;
  /** The names of its tools, now or as stored; undefined if there is no list. Starts nothing. */
  knownTools(server: string): Promise<readonly string[] | undefined>;
  /** Resolves when the server is ready. */
  start(server: string): Promise<void>;
}

/** Why the config file as it is now is not used. */
export interface ConfigProblem {
  /**
   * `untrusted`: it has changed since it was trusted. `invalid`: it cannot be read or used. `waiting`: it could
   * be used by now, since it was trusted again, and a reload does it.
   */
  readonly kind: 'untrusted' | 'invalid' | 'waiting';
  /** What is wrong; null: nothing. */
  readonly detail: string | null;
}

/** The config that an instance uses. */
export interface UsedConfig {
  /** When it was taken over from the file, in milliseconds since 1970. */
  readonly since: number;
  /** Null: it is what the file has, or is about to be. */
  readonly problem: ConfigProblem | null;
}

/** What an instance tells of itself in its status. */
export interface InstanceFacts {
  readonly pid: number;
  /** Where it serves MCP over HTTP; null: nowhere. */
  readonly url: string | null;
  /** How many MCP clients it knows: windows, sessions, and those that need no session. */
  readonly clients: number;
  /** The windows whose variables have other values than those of the instance, which its servers get. */
  readonly differing: readonly DifferingWindow[];
  readonly usedConfig: UsedConfig;
  /** Keys of the config that have changed and apply only to a new start. */
  readonly needsStart: readonly string[];
  /** Requests over HTTP that were refused before they were anybody's; null: it serves no HTTP. */
  readonly refused: RefusedCounts | null;
  /** Its link to the broker; null: it serves no workers. */
  readonly broker: BrokerState | null;
}

/** An older instance tells less. */
export type InstanceStatus = HostStatus & Partial<InstanceFacts>;

/** Another version serves. */
export interface RolloutDone {
  readonly kind: 'rolled';
  /** The versions of the program. */
  readonly from: string;
  readonly to: string;
  /** The process that stays the same. */
  readonly holder: number;
  readonly tookMs: number;
  /** How long nothing new was begun. */
  readonly pauseMs: number;
  /** How many of them went along. */
  readonly servers: number;
  readonly sessions: number;
  /** What was not carried over, each in a few words. */
  readonly left: readonly string[];
}

/** How a rollout has ended that was asked for. */
export type RolloutTold =
  | RolloutDone
  /** The version before serves on. */
  | { readonly kind: 'failed'; readonly reason: string; readonly detail: string }
  /** It has not begun, and is done later. */
  | { readonly kind: 'pending'; readonly detail: string };

/** What only a running instance can do. */
export interface InstanceOperations extends Operations {
  stop(server: string): Promise<void>;
  /** What its processes have written that is not MCP, from this place on. */
  output(server: string, place: number): Promise<OutputPage>;
  /** Starts the server anew and forgets its failures. */
  reload(server: string): Promise<void>;
  /** Reads the config again and applies what has changed. */
  reloadConfig(options: { readonly dryRun: boolean }): Promise<ReloadedConfig>;
  /** Moves the instance to the installed version; resolves when that serves, has failed, or has to wait long. */
  rollout(): Promise<RolloutTold>;
  /** Resolves when it has begun to end. */
  shutdown(): Promise<void>;
}
