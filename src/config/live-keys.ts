// What a changed value of each config key requires in a running host: nothing more than using the
// new value, a new process or connection for its server, or a restart of the host. Every key of the
// schema is listed here; a missing key does not compile and fails a test. plan.ts compares two
// configurations, and host/apply.ts applies the difference.

import type { Config, RemoteServerConfig, StdioServerConfig } from './schema.ts';

export type Applies =
  /** Applied while running. */
  | 'live'
  /** The server's process or connection is replaced; running calls may end before that. */
  | 'restart-server'
  /** Stays unchanged until the host is restarted; `apply` reports that. */
  | 'restart-host';

type ServerKey = keyof StdioServerConfig | keyof RemoteServerConfig;

/** One entry of `mcpServers`. A nested object counts as one key. */
export const serverKeys: Readonly<Record<ServerKey, Exclude<Applies, 'restart-host'>>> = {
  type: 'restart-server',
  command: 'restart-server',
  args: 'restart-server',
  env: 'restart-server',
  cwd: 'restart-server',
  inheritEnv: 'restart-server',
  allowEnv: 'restart-server',
  url: 'restart-server',
  headers: 'restart-server',
  limits: 'restart-server',
  // Which client uses which connection is decided when a connection is opened.
  isolation: 'restart-server',
  // A disabled server is not in the resulting config: it is removed.
  disabled: 'live',
  lazy: 'live',
  keepAliveMs: 'live',
  trusted: 'live',
  startTimeoutMs: 'live',
  callTimeoutMs: 'live',
  maxCallMs: 'live',
  concurrency: 'live',
  queue: 'live',
  circuit: 'live',
  restart: 'live',
  tools: 'live',
};

/** The top level. */
export const configKeys: Readonly<
  Record<keyof Config | '$schema', Exclude<Applies, 'restart-server'>>
> = {
  $schema: 'live',
  // Each server by its own keys, above.
  mcpServers: 'live',
  maxIdle: 'live',
  listWaitMs: 'live',
  drainMs: 'live',
  rollout: 'live',
  cache: 'live',
  surface: 'live',
  hostTools: 'live',
  roles: 'live',
  local: 'live',
  // All names that clients use would change.
  naming: 'restart-host',
  // The socket is open, and the log is written.
  http: 'restart-host',
  telemetry: 'restart-host',
  // The database is open.
  store: 'restart-host',
  keyFile: 'restart-host',
  audit: 'restart-host',
  broker: 'restart-host',
};
