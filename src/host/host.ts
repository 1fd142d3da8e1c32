// The host's interface for programs: every MCP server of a config, supervised, behind one object.
// host-core.ts implements it. How the host works inside is not part of this interface, and neither
// is what the gateway (gateway-face.ts) and the commands (command-face.ts) need.

import type { CacheStats } from '../cache/cache.ts';
import type {
  ConfigInput,
  RemoteServerInput,
  ServerInput,
  StdioServerInput,
} from '../config/config-input.ts';
import type { HostEvent } from '../observe/events.ts';
import type { Guard } from '../policy/access.ts';
import type { BudgetLimits } from '../policy/budget.ts';
import type { Principal } from '../policy/principal.ts';
import type { Lease } from '../supervise/leases.ts';
import type { AppliedConfig } from './apply.ts';
import type { CallResult, Progress } from './call-result.ts';
import type { Discovered, Searched, ToolDefinition } from './discovery.ts';
import type { HostStatus } from './status.ts';

/** The options of one call. */
export interface CallOptions {
  /**
   * Cancels: the server is notified, and the call throws `cancelled`. With an idempotency key the
   * call is prevented only while it has not been sent; afterwards it goes on, and its answer is
   * kept for the next call with that key.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * How long the call may take over all attempts, in milliseconds: above 0; more than 2^31 - 1 counts as
   * that. Absent: the tool's `timeoutMs` in the config, or else its server's `callTimeoutMs`.
   */
  readonly timeoutMs?: number | undefined;
  /** Called with each progress report. Only if it is given is the server asked for reports. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** On whose behalf it is called; absent: the local user. */
  readonly principal?: Principal | undefined;
  /**
   * Calls of one principal with the same key run once, and all get the same answer; 1 to 255 characters. A
   * key that was used with another tool or other arguments throws `conflict`.
   */
  readonly idempotencyKey?: string | undefined;
}

/** The options for listing the tools of one server. */
export interface ToolsOptions {
  /** On whose behalf it is requested; absent: the local user. */
  readonly principal?: Principal | undefined;
  /**
   * True: the list as a gateway has last read it, without starting the server; it is asked only if there
   * is no such list. Absent or false: the server is asked.
   */
  readonly kept?: boolean | undefined;
}

/** The options for listing the tools of all servers. */
export interface DiscoverOptions extends ToolsOptions {
  /** How long one server may take, in milliseconds; one that takes longer is an error entry. Absent: 10000. */
  readonly deadlineMs?: number | undefined;
}

/** The options of a search. */
export interface SearchOptions extends ToolsOptions {
  /** How many hits are given at most; absent: 10. */
  readonly limit?: number | undefined;
}

/** The options for reading the state. */
export interface StatusOptions {
  /** On whose behalf it is requested; absent: the local user. */
  readonly principal?: Principal | undefined;
}

/** Another config for a running host: the keys of one, or the file that holds one. */
export interface ApplyOptions extends ConfigInput {
  /** A config file to read; keys of a config beside it are refused. Absent: the keys are the config. */
  readonly configFile?: string | undefined;
  /** The directory that relative paths start from. Absent: the one that the host was made with. */
  readonly baseDir?: string | undefined;
}

/** Who keeps a server open. */
export interface LeaseOptions {
  /** Shown in `status`, such as `skill:review`. */
  readonly owner: string;
}

/** A server to register: its name and its entry, as in `mcpServers`. */
export type ServerSpec = ServerInput & {
  /** The name it is called by, by the rules for names in `mcpServers`. */
  readonly name: string;
};

/** Further keys of a server's entry. Only here is `lazy` false if it is absent. */
export type SpawnOptions = Partial<StdioServerInput> | Partial<RemoteServerInput>;

/** Every server of a config, supervised, behind one object; `createHost` makes it. */
export interface Host extends AsyncDisposable {
  /**
   * Calls a tool and gives its result; a result with `isError` is returned like any other. The server is
   * started if it does not run.
   *
   * Throws a `Fault` for everything else that can happen: its `code` says what, and its `dispatched`
   * whether the server may have received the call. Arguments that JSON cannot express throw
   * `invalid_request`, a server or tool that does not exist throws `not_found`.
   */
  call(
    server: string,
    tool: string,
    args?: Readonly<Record<string, unknown>>,
    options?: CallOptions,
  ): Promise<CallResult>;

  /**
   * The same with the arguments as JSON text, `{}` if absent: they reach the server byte for byte, and
   * the result's bytes are given as the server wrote them.
   *
   * Throws a `Fault` as `call` does; text that is not one JSON object throws `invalid_request`.
   */
  callRaw(
    server: string,
    tool: string,
    args?: string | Uint8Array,
    options?: CallOptions,
  ): Promise<Buffer>;

  /**
   * Calls a tool of a server that is not in the config, given as `[program, ...args]`. Its process is kept
   * among the idle ones (`maxIdle`), so that the next call with the same command finds it running.
   *
   * Throws a `Fault` as `call` does; an empty command throws `invalid_request`, and another principal than the
   * local user `denied`.
   */
  callCommand(
    command: readonly string[],
    tool: string,
    args?: Readonly<Record<string, unknown>>,
    options?: CallOptions,
  ): Promise<CallResult>;

  /**
   * Registers a server and gives its name; one of the same name is ended and replaced. The options are
   * further keys of its config entry. Without `lazy: true` it is started at once and kept running.
   *
   * Throws a `Fault`: `invalid_request` for an entry that the config would not take, `denied` where the
   * guard says so, and the reason (such as `unavailable` or `start_timeout`) if it does not start; then it
   * is not registered.
   */
  spawn(spec: ServerSpec, options?: SpawnOptions): Promise<string>;

  /**
   * Gives the host another config while it runs. Only what differs changes: servers come and go, take over
   * what they can, and get another process or connection where they must. Calls under way on a server that
   * is removed or replaced may end; the result is there when its old processes have ended. Settings that
   * cannot change while running stay as they are, and the result says which. Servers that were added by
   * `spawn` stay. A second call waits for the first.
   *
   * Throws a `Fault`, and then changes nothing: `invalid_request` for a config that cannot be used, `denied`
   * where the guard says so (it is asked about `spawn`, `stop` and `reload`), `draining` when the host ends.
   */
  apply(config: ApplyOptions): Promise<AppliedConfig>;

  /**
   * Ends the server's processes and forgets its failures, an ejection and its cached results. It is no
   * longer kept running; a later call starts it again.
   *
   * Throws a `Fault`: `not_found` if there is no such server, `invalid_request` if it is disabled, `denied`
   * where the guard says so.
   */
  stop(server: string): Promise<void>;

  /**
   * Ends the server's processes and forgets its failures, an ejection, its cached results and its lists. One
   * that is kept running or leased is started again at once, another one at its next call.
   *
   * Throws a `Fault`: `not_found` if there is no such server, `invalid_request` if it is disabled, `denied`
   * where the guard says so.
   */
  reload(server: string): Promise<void>;

  /**
   * Starts the server if it does not run, and keeps it running until the lease is released.
   *
   * Throws a `Fault`: `not_found` if there is no such server, `denied` where the guard says so, and the
   * reason (such as `unavailable`, `circuit_open` or `ejected`) if it cannot be had.
   */
  lease(server: string, options: LeaseOptions): Promise<Lease>;

  /**
   * The definitions of a server's tools as the server gave them, each with the name of its server as
   * `_mcp_server`. Tools that the principal may not call are left out.
   *
   * Throws a `Fault`: `not_found` if there is no such server, `denied` where the guard says so, and the
   * reason if the server cannot be asked.
   */
  tools(server: string, options?: ToolsOptions): Promise<readonly ToolDefinition[]>;

  /**
   * Every tool of every server that the principal may call, in the order of the names. A server
   * that fails is one entry with its fault.
   */
  discover(options?: DiscoverOptions): Promise<readonly Discovered[]>;

  /**
   * The tools that match the words best, across all servers, best first. Servers that fail are
   * listed in `errors`. Throws nothing.
   */
  search(words: string, options?: SearchOptions): Promise<Searched>;

  /**
   * The state of the host, and of those servers that the principal may see. Starts nothing,
   * contacts no server, throws nothing.
   */
  status(options?: StatusOptions): HostStatus;

  /** How the cache of results is used. */
  cacheStats(): CacheStats;

  /**
   * Everything that happens from now on, until the host has ended or the signal aborts; of servers that the
   * guard keeps from the local user nothing. A reader that falls more than 1024 events behind loses the oldest.
   */
  events(signal?: AbortSignal): AsyncGenerator<HostEvent, void, void>;

  /**
   * Sets who may do what: the guard is called before everything that a principal does, sees or
   * receives. Null, as at the beginning: the local user may do everything, and other principals
   * nothing.
   */
  setGuard(guard: Guard | null): void;

  /**
   * Runs the work and gives what it gives. Calls made from inside it count against the limits, also those
   * that the cache answers; one too many throws `budget_exceeded`. Inside the work another `withBudget`
   * counts for itself.
   *
   * Throws a `Fault`: `invalid_request` for limits that are no whole numbers from 0 on.
   */
  withBudget<T>(limits: BudgetLimits, run: () => T): T;

  /**
   * Ends all servers and waits until none of their processes is left. Calls under way end with a `Fault`,
   * later ones throw `draining`. A second call waits for the same end.
   */
  close(): Promise<void>;
}
