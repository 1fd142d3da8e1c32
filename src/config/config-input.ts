// Generated from the config schema by `npm run generate`; do not edit. What a config may say, as types for
// programs that give their config as an object. schema.ts and server-schema.ts have the truth: these
// types accept the same (config-input.test.ts), with the descriptions where an editor shows them.

/** Everything that a config may say. */
export interface ConfigInput {
  /** The JSON Schema, for editors. */
  readonly $schema?: string | undefined;
  /**
   * The servers, by name: use 1 to 64 ASCII letters, digits, ".", "-" or single "_" between them,
   * starting with a letter or digit.
   */
  readonly mcpServers?: Readonly<Record<string, ServerInput>> | undefined;
  /**
   * `prefix`: tools and prompts are named server__tool; a name that only one server has may also be
   * called alone. `transparent`: they keep their own names; of two with the same name the later one
   * is refused. Default: `"prefix"`.
   */
  readonly naming?: 'prefix' | 'transparent' | undefined;
  /**
   * `direct`: every tool is listed. `search`: only search_tools, describe_tool and call_tool are
   * listed. Default: `"direct"`.
   */
  readonly surface?: 'direct' | 'search' | undefined;
  /** Offer the gateway's own tools: health_snapshot and telemetry_snapshot. Default: `true`. */
  readonly hostTools?: boolean | undefined;
  /**
   * How many idle connections are kept; the least recently used is closed first. A whole number, 0
   * to 65536. Default: `16`.
   */
  readonly maxIdle?: number | undefined;
  /**
   * How long, in milliseconds, the first list waits for servers without a stored catalogue; servers
   * that finish later are announced with list_changed. Milliseconds, 0 to 600000. Default: `10000`.
   */
  readonly listWaitMs?: number | undefined;
  /**
   * How long, in milliseconds, running calls may take to end when the gateway is shut down; on
   * stdio at most 1500 after a signal. The remaining calls are answered with a fault. Milliseconds,
   * 0 to 3600000. Default: `10000`.
   */
  readonly drainMs?: number | undefined;
  /**
   * What holders of tokens may use, by role. A token whose role is not here may use nothing.
   * Default: `{}`.
   */
  readonly roles?: Readonly<Record<string, RoleInput>> | undefined;
  /** The local user. */
  readonly local?: LocalInput | undefined;
  /** The HTTP endpoint. */
  readonly http?: HttpInput | undefined;
  /** The cache of tool results. */
  readonly cache?: CacheInput | undefined;
  /**
   * `sqlite`: what a gateway must not forget, such as used idempotency keys, is kept in a database
   * in the state directory. `memory`: it is lost when the gateway ends.
   * `nats://USER:PASSWORD@HOST:PORT/NAMESPACE` or `tls://…`: it is kept on a NATS server, for all
   * gateways with the same namespace, and so are the tokens with roles; variables in it are
   * replaced. Default: `"sqlite"`.
   */
  readonly store?: string | undefined;
  /**
   * `auto`: `holdfast serve` goes over to another version by itself when the installed files have
   * changed. `manual`: when it is asked to (holdfast rollout, or SIGHUP). Default: `"manual"`.
   */
  readonly rollout?: 'manual' | 'auto' | undefined;
  /** The broker through which workers on other machines are served. Default: `null`. */
  readonly broker?: BrokerInput | null | undefined;
  /**
   * `on`: who called what, and how it ended, is written to a log in the state directory that shows
   * later changes (holdfast audit). `required`: a call also waits until it is written down, and is
   * refused if that fails. Default: `"off"`.
   */
  readonly audit?: 'off' | 'on' | 'required' | undefined;
  /**
   * The file with the key of encrypted records and of the audit log; created when it is first
   * needed. Without it: holdfast.key beside the config.
   */
  readonly keyFile?: string | undefined;
  /** The event log. */
  readonly telemetry?: TelemetryInput | undefined;
}

/** One entry of `mcpServers`. */
export type ServerInput = StdioServerInput | RemoteServerInput;

/** A server that is a process. It must have a `command`. */
export interface StdioServerInput extends CommonServerInput {
  /**
   * A process that uses MCP on its standard streams. Inferred from `command`. Default: `"stdio"`.
   */
  readonly type?: 'stdio' | undefined;
  /** The program to run: a name looked up in PATH, or a path. */
  readonly command: string;
  /** The arguments, as a list; no shell is involved. Default: `[]`. */
  readonly args?: readonly string[] | undefined;
  /**
   * Environment variables for the process, in addition to the small safe set it inherits. Default:
   * `{}`.
   */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /**
   * The working directory, relative to the config file's folder. "client": the folder in which
   * holdfast connect was started; the server has one process for each folder, ${workspaceFolder} is
   * that folder, and other clients cannot use it. Default: `"."`.
   */
  readonly cwd?: string | undefined;
  /**
   * More environment variables that the process inherits: "NAME" or "PREFIX_*". A pattern passes on
   * no variable that can make a program run other code, unless `allowEnv` names it. Default: `[]`.
   */
  readonly inheritEnv?: readonly string[] | undefined;
  /**
   * The variables in `env` and `inheritEnv` that can make a program run other code, such as
   * NODE_OPTIONS, LD_PRELOAD or BASH_ENV (SECURITY.md lists them). A server that sets one without
   * naming it here is disabled. Default: `[]`.
   */
  readonly allowEnv?: readonly string[] | undefined;
  /** How often and how fast the process is restarted. */
  readonly restart?: RestartInput | undefined;
  /** Limits on what the server may use. */
  readonly limits?: LimitsInput | undefined;
}

/** A server at an address. It must have a `url`. */
export interface RemoteServerInput extends CommonServerInput {
  /**
   * `http`: Streamable HTTP, inferred from `url`. `sse`: the HTTP+SSE transport of 2024-11-05.
   * Default: `"http"`.
   */
  readonly type?: 'http' | 'sse' | undefined;
  /** The address of the MCP endpoint. */
  readonly url: string;
  /** Headers sent with every request. Default: `{}`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * If it is set, the server is ejected when the restart budget is spent. null: it is retried for
   * ever with growing delays. Default: `null`.
   */
  readonly restart?: RestartInput | null | undefined;
  /** Limits on what the server may use. */
  readonly limits?: RemoteLimitsInput | undefined;
}

/** What every server can have. */
export interface CommonServerInput {
  /** Keeps the entry, but the server is not run. Default: `false`. */
  readonly disabled?: boolean | undefined;
  /** false: the server is started with the host and kept running. Default: `true`. */
  readonly lazy?: boolean | undefined;
  /**
   * Idle time after the last lease before the connection is closed; 0: at once. Milliseconds, 0 to
   * 2147483647. Default: `300000`.
   */
  readonly keepAliveMs?: number | undefined;
  /**
   * `shared`: one connection for all clients; the roots of the first one are used for all.
   * `client`: one for each client. `auto`: shared until the server first sends a request to a
   * client, then one for each; that is remembered. A modern client (2026-07-28) has up to eight:
   * one for each concurrent call, and for each set of roots. The default is client for servers that
   * are known to keep state for one client: @playwright/mcp,
   * @executeautomation/playwright-mcp-server, @modelcontextprotocol/server-puppeteer,
   * @browsermcp/mcp, chrome-devtools-mcp, @mobilenext/mobile-mcp, @wonderwhy-er/desktop-commander.
   * Default: `"auto"`.
   */
  readonly isolation?: 'auto' | 'shared' | 'client' | undefined;
  /** Whether the server's readOnlyHint decides about replay and caching. Default: `false`. */
  readonly trusted?: boolean | undefined;
  /**
   * How long a start may take until the server is ready. The default is 120000 when the command is
   * npx, uvx, bunx, pipx, docker. Milliseconds, 1 to 2147483647. Default: `30000`.
   */
  readonly startTimeoutMs?: number | undefined;
  /**
   * How long a call may take, from the first dispatch and over all attempts; progress extends it.
   * Milliseconds, 1 to 2147483647. Default: `60000`.
   */
  readonly callTimeoutMs?: number | undefined;
  /**
   * How long a call may take in total, whatever its progress. If it is not set: at least
   * `callTimeoutMs`. Milliseconds, 1 to 2147483647. Default: `600000`.
   */
  readonly maxCallMs?: number | undefined;
  /**
   * How many calls run at once; 1 for a server that cannot handle concurrent calls. A whole number,
   * 1 to 65536. Default: `64`.
   */
  readonly concurrency?: number | undefined;
  /**
   * How many calls may wait; clients take turns. Any further call is refused as `overloaded`. A
   * whole number, 0 to 1000000. Default: `256`.
   */
  readonly queue?: number | undefined;
  /** The circuit breaker: stops traffic to a server that keeps failing. */
  readonly circuit?: CircuitInput | undefined;
  /** Settings for single tools, by the name that the server uses. Default: `{}`. */
  readonly tools?: Readonly<Record<string, ToolInput>> | undefined;
}

/** The keys of `circuit`. */
export interface CircuitInput {
  /** Consecutive failures that open the circuit. A whole number, 1 to 1000000. Default: `5`. */
  readonly threshold?: number | undefined;
  /**
   * How long the circuit stays open before one probe is allowed. Milliseconds, 1 to 2147483647.
   * Default: `30000`.
   */
  readonly resetMs?: number | undefined;
}

/** One entry of `tools`. */
export interface ToolInput {
  /**
   * Whether a call may be repeated after it may have reached the server. null: only if the server
   * is trusted and the tool has readOnlyHint. Default: `null`.
   */
  readonly replay?: 'never' | 'safe' | null | undefined;
  /**
   * How long a result is cached. 0: never. null: as long as the server's TTL says, if the server is
   * trusted and the tool is read-only. Milliseconds, 0 to 2147483647. Default: `null`.
   */
  readonly cacheMs?: number | null | undefined;
  /** The tool is not listed and cannot be called. Default: `false`. */
  readonly hidden?: boolean | undefined;
  /**
   * The name of the tool for clients of the gateway, instead of `server__tool`. Default: `null`.
   */
  readonly as?: string | null | undefined;
  /**
   * Overrides the server's `callTimeoutMs` for this tool. Milliseconds, 1 to 2147483647. Default:
   * `null`.
   */
  readonly timeoutMs?: number | null | undefined;
}

/** The keys of `restart`. */
export interface RestartInput {
  /**
   * Restarts allowed within `windowMs`; one more ejects the server until `reload`. A whole number,
   * 0 to 1000000. Default: `5`.
   */
  readonly max?: number | undefined;
  /**
   * The sliding window in which restarts are counted. Milliseconds, 1 to 2147483647. Default:
   * `300000`.
   */
  readonly windowMs?: number | undefined;
  /**
   * Delay before the first restart, doubled for each further one inside the window. Milliseconds, 0
   * to 2147483647. Default: `100`.
   */
  readonly minDelayMs?: number | undefined;
  /** The delay never grows beyond this. Milliseconds, 0 to 2147483647. Default: `5000`. */
  readonly maxDelayMs?: number | undefined;
}

/** The keys of `limits`. */
export interface LimitsInput {
  /**
   * The longest message accepted from the server. Bytes, 1024 to 536870912. Default: `16777216`.
   */
  readonly frameBytes?: number | undefined;
  /**
   * Memory of the whole process tree; null: no limit. Mebibytes, 1 to 16777216. Default: `null`.
   */
  readonly memoryMb?: number | null | undefined;
  /** Processes in the tree; null: no limit. A whole number, 1 to 1000000. Default: `null`. */
  readonly processes?: number | null | undefined;
}

/** The keys of `limits`. */
export interface RemoteLimitsInput {
  /**
   * The longest message accepted from the server. Bytes, 1024 to 536870912. Default: `16777216`.
   */
  readonly frameBytes?: number | undefined;
}

/** One entry of `roles`. */
export interface RoleInput {
  /**
   * What may be used: `server/tool`, `server__tool`, `prompt:server/name`, `resource:server/uri`,
   * each with `*` for any characters; `*` alone is everything. Empty: nothing. Default: `[]`.
   */
  readonly allow?: readonly string[] | undefined;
  /** What may not be used, although `allow` matches it; the same patterns. Default: `[]`. */
  readonly deny?: readonly string[] | undefined;
  /**
   * May see the commands, causes and stderr of failures of the servers that it may use, in errors
   * and in `health_snapshot`. As the role of the local user (`local.role`) it also reads their
   * logs, stops and reloads them; over HTTP nothing more can be done with it. Default: `false`.
   */
  readonly operator?: boolean | undefined;
  /**
   * How much holders of this role may call; null: without limit. What is spent outlives a restart.
   * A changed budget begins at zero. Default: `null`.
   */
  readonly budget?: BudgetInput | null | undefined;
}

/** The keys of `budget`. */
export interface BudgetInput {
  /**
   * Calls in total, those that the cache answers included, counted from the first one until this
   * budget is changed; null: no limit. A whole number, 0 to 4503599627370496. Default: `null`.
   */
  readonly calls?: number | null | undefined;
  /**
   * Calls within any 60 seconds; null: no limit. A whole number, 0 to 4503599627370496. Default:
   * `null`.
   */
  readonly perMinute?: number | null | undefined;
  /**
   * Bytes of all results together, counted as `calls`. The result that exceeds it is not given out.
   * Null: no limit. A whole number, 0 to 4503599627370496. Default: `null`.
   */
  readonly bytes?: number | null | undefined;
  /**
   * Who shares one count: each `principal` has its own, all of the `role` have one, or each
   * `session` (modern: each client) has one that ends with it. Default: `"principal"`.
   */
  readonly per?: 'principal' | 'role' | 'session' | undefined;
}

/** The keys of `local`. */
export interface LocalInput {
  /**
   * The role of the local user: what its MCP clients and the commands that use servers may use;
   * null: everything. The commands logs, stop and reload SERVER need `operator` in it. The config,
   * tokens and the gateway as a whole are not limited by it. Default: `null`.
   */
  readonly role?: string | null | undefined;
}

/** The keys of `http`. */
export interface HttpInput {
  /**
   * HOST:PORT to listen on, an IPv6 address in brackets; port 0 chooses a free port. Default:
   * `"127.0.0.1:4100"`.
   */
  readonly listen?: string | undefined;
  /**
   * `token`: every request needs a bearer token. `none`: no authentication, on a loopback address
   * only. Default: `"token"`.
   */
  readonly auth?: 'token' | 'none' | undefined;
  /**
   * Host names, besides those of this machine, that requests may use, with or without a port.
   * Default: `[]`.
   */
  readonly allowedHosts?: readonly string[] | undefined;
  /**
   * Origins, besides its own, whose pages may use it, such as https://app.example.com; another port
   * of this machine is another origin. Default: `[]`.
   */
  readonly allowedOrigins?: readonly string[] | undefined;
}

/** The keys of `cache`. */
export interface CacheInput {
  /**
   * How many results are cached per tool; the least recently used is removed first. A whole number,
   * 0 to 1000000. Default: `64`.
   */
  readonly entriesPerTool?: number | undefined;
  /** The size of all cached results together, in bytes. Bytes, at least 0. Default: `67108864`. */
  readonly maxBytes?: number | undefined;
}

/** The keys of `broker`. */
export interface BrokerInput {
  /** ws://, wss://, nats:// or tls://HOST:PORT; the last two are a NATS server. */
  readonly url: string;
  /** The mailbox of this gateway there; the credential is for this one. */
  readonly as: string;
  /** The file with the credential; HOLDFAST_TOKEN_FILE, if it is set, is used instead. */
  readonly tokenFile?: string | undefined;
}

/** The keys of `telemetry`. */
export interface TelemetryInput {
  /** Write events.jsonl in the state directory. Default: `true`. */
  readonly eventLog?: boolean | undefined;
  /**
   * Size at which the event log is rotated; one previous file is kept. Bytes, at least 65536.
   * Default: `8388608`.
   */
  readonly maxBytes?: number | undefined;
}
