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
   * `prefix`: tools and prompts appear as server__tool. `transparent`: under their own names; of
   * two that collide the later one is refused. Default: `"prefix"`.
   */
  readonly naming?: 'prefix' | 'transparent' | undefined;
  /**
   * `direct`: every tool is listed. `search`: only search_tools, describe_tool and call_tool are.
   * Default: `"direct"`.
   */
  readonly surface?: 'direct' | 'search' | undefined;
  /** Offer the gateway's own tools: health_snapshot and telemetry_snapshot. Default: `true`. */
  readonly hostTools?: boolean | undefined;
  /**
   * Idle connections kept at most; the least recently used goes first. A whole number, 0 to 65536.
   * Default: `16`.
   */
  readonly maxIdle?: number | undefined;
  /**
   * How long the first list waits for servers whose catalogue is not kept, in milliseconds; those
   * that come later are announced. Milliseconds, 0 to 600000. Default: `10000`.
   */
  readonly listWaitMs?: number | undefined;
  /**
   * How long calls under way may take to end when the gateway is told to stop; on stdio at most
   * 1500 after a signal. What is left then is answered with a fault. Milliseconds, 0 to 3600000.
   * Default: `10000`.
   */
  readonly drainMs?: number | undefined;
  /** The HTTP endpoint. */
  readonly http?: HttpInput | undefined;
  /** The cache of results. */
  readonly cache?: CacheInput | undefined;
  /** What is written down about what happened. */
  readonly telemetry?: TelemetryInput | undefined;
}

/** One entry of `mcpServers`. */
export type ServerInput = StdioServerInput | RemoteServerInput;

/** A server that is a process. It must have a `command`. */
export interface StdioServerInput extends CommonServerInput {
  /**
   * A process that speaks MCP on its standard streams. Inferred from `command`. Default: `"stdio"`.
   */
  readonly type?: 'stdio' | undefined;
  /** The program to run: a name looked up in PATH, or a path. */
  readonly command: string;
  /** Its arguments, as a list; no shell is involved. Default: `[]`. */
  readonly args?: readonly string[] | undefined;
  /** Variables for the process, beyond the small safe set it inherits. Default: `{}`. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Its working directory, relative to the config file's folder. Default: `"."`. */
  readonly cwd?: string | undefined;
  /** More variables to pass on: "NAME" or "PREFIX_*". Default: `[]`. */
  readonly inheritEnv?: readonly string[] | undefined;
  /** How often and how fast the process is restarted. */
  readonly restart?: RestartInput | undefined;
  /** What the server may use up. */
  readonly limits?: LimitsInput | undefined;
}

/** A server at an address. It must have a `url`. */
export interface RemoteServerInput extends CommonServerInput {
  /**
   * `http`: Streamable HTTP, inferred from `url`. `sse`: the transport of 2024. Default: `"http"`.
   */
  readonly type?: 'http' | 'sse' | undefined;
  /** The address of the MCP endpoint. */
  readonly url: string;
  /** Headers sent with every request. Default: `{}`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Set it to eject the server when the budget is spent. null: it is retried with growing delays
   * for ever. Default: `null`.
   */
  readonly restart?: RestartInput | null | undefined;
  /** What the server may use up. */
  readonly limits?: RemoteLimitsInput | undefined;
}

/** What every server can have. */
export interface CommonServerInput {
  /** Keep the entry but do not run the server. Default: `false`. */
  readonly disabled?: boolean | undefined;
  /** false: started with the host and kept. Default: `true`. */
  readonly lazy?: boolean | undefined;
  /**
   * Idle time after the last lease before the connection ends; 0: at once. Milliseconds, 0 to
   * 2147483647. Default: `300000`.
   */
  readonly keepAliveMs?: number | undefined;
  /**
   * `shared`: one connection for all clients. `client`: one for each. `auto`: shared until the
   * server first asks the client back, then one for each; that is remembered. Default: `"auto"`.
   */
  readonly isolation?: 'auto' | 'shared' | 'client' | undefined;
  /** May the server's readOnlyHint decide replay and caching? Default: `false`. */
  readonly trusted?: boolean | undefined;
  /**
   * How long a start may take until the server is ready. 120000 when the command is npx, uvx, bunx,
   * pipx, docker. Milliseconds, 1 to 2147483647. Default: `30000`.
   */
  readonly startTimeoutMs?: number | undefined;
  /**
   * How long a call may take, from first dispatch and over all attempts; progress extends it.
   * Milliseconds, 1 to 2147483647. Default: `60000`.
   */
  readonly callTimeoutMs?: number | undefined;
  /**
   * The end of every call, whatever its progress. Not set: at least `callTimeoutMs`. Milliseconds,
   * 1 to 2147483647. Default: `600000`.
   */
  readonly maxCallMs?: number | undefined;
  /**
   * Calls in flight at once; 1 for a server that cannot do two things. A whole number, 1 to 65536.
   * Default: `64`.
   */
  readonly concurrency?: number | undefined;
  /**
   * Calls waiting for their turn, in which clients alternate; one more is refused as `overloaded`.
   * A whole number, 0 to 1000000. Default: `256`.
   */
  readonly queue?: number | undefined;
  /** The circuit breaker: stops traffic to a server that keeps failing. */
  readonly circuit?: CircuitInput | undefined;
  /**
   * What the operator says about single tools, by the name the server gives them. Default: `{}`.
   */
  readonly tools?: Readonly<Record<string, ToolInput>> | undefined;
}

/** The keys of `circuit`. */
export interface CircuitInput {
  /** Failures in a row that open the circuit. A whole number, 1 to 1000000. Default: `5`. */
  readonly threshold?: number | undefined;
  /**
   * How long it stays open before one probe may go. Milliseconds, 1 to 2147483647. Default:
   * `30000`.
   */
  readonly resetMs?: number | undefined;
}

/** One entry of `tools`. */
export interface ToolInput {
  /**
   * May a call run again after it may have reached the server? null: only if the server is trusted
   * and says readOnlyHint. Default: `null`.
   */
  readonly replay?: 'never' | 'safe' | null | undefined;
  /**
   * How long a result is kept. 0: never. null: the server's own TTL, if it is trusted and the tool
   * is read-only. Milliseconds, 0 to 2147483647. Default: `null`.
   */
  readonly cacheMs?: number | null | undefined;
  /** Neither listed nor callable. Default: `false`. */
  readonly hidden?: boolean | undefined;
  /**
   * The name under which clients of the gateway see it, instead of `server__tool`. Default: `null`.
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
   * Delay before the first restart; doubled for each further one inside the window. Milliseconds, 0
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

/** The keys of `http`. */
export interface HttpInput {
  /**
   * HOST:PORT to listen on, an IPv6 address in brackets; port 0 takes any. Default:
   * `"127.0.0.1:4100"`.
   */
  readonly listen?: string | undefined;
  /**
   * `token`: every request needs a bearer token. `none`: no authentication, on a loopback address
   * only. Default: `"token"`.
   */
  readonly auth?: 'token' | 'none' | undefined;
  /**
   * Host names besides this machine under which it may be reached, with or without a port. Default:
   * `[]`.
   */
  readonly allowedHosts?: readonly string[] | undefined;
  /**
   * Origins besides its own whose pages may use it, such as https://app.example.com; another port
   * of this machine is another origin. Default: `[]`.
   */
  readonly allowedOrigins?: readonly string[] | undefined;
}

/** The keys of `cache`. */
export interface CacheInput {
  /** Results kept per tool; the oldest goes first. A whole number, 0 to 1000000. Default: `64`. */
  readonly entriesPerTool?: number | undefined;
  /** Bytes of all kept results together. Bytes, at least 0. Default: `67108864`. */
  readonly maxBytes?: number | undefined;
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
