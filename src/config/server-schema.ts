// One entry of `mcpServers`: the keys of a server and their defaults. There are two kinds, a process
// with a `command` and a remote endpoint with a `url`; each accepts only the keys that have an effect on
// it. `restart` always has a value for a process; for a remote server it is null unless the operator
// sets it, because only then may that server be ejected.

import * as z from 'zod';
import { longestTimerMs } from '../kernel/duration.ts';
import { isRecord } from '../kernel/json-values.ts';
import { runsInFolders } from './client-folders.ts';
import type { Frozen } from './frozen.ts';
import { statefulPackageIn, statefulPackages } from './stateful-packages.ts';

/** These commands download the server before they start it, so the first start may take long. */
const fetchingCommands: ReadonlySet<string> = new Set(['npx', 'uvx', 'bunx', 'pipx', 'docker']);

const slowStartTimeoutMs = 120_000;

const defaultMaxCallMs = 600_000;

const durationMs = (min = 0) => z.int().min(min).max(longestTimerMs);
/** Text that is passed to the operating system, which does not accept NUL. */
const text = () => z.string().refine((value) => !value.includes('\0'), 'must not contain NUL');

const restart = z
  .strictObject({
    max: z
      .int()
      .min(0)
      .max(1_000_000)
      .default(5)
      .describe('Restarts allowed within `windowMs`; one more ejects the server until `reload`.'),
    windowMs: durationMs(1)
      .default(300_000)
      .describe('The sliding window in which restarts are counted.'),
    minDelayMs: durationMs()
      .default(100)
      .describe('Delay before the first restart, doubled for each further one inside the window.'),
    maxDelayMs: durationMs().default(5_000).describe('The delay never grows beyond this.'),
  })
  .refine(({ minDelayMs, maxDelayMs }) => minDelayMs <= maxDelayMs, {
    path: ['minDelayMs'],
    message: 'must not be more than maxDelayMs',
  });

const circuit = z.strictObject({
  threshold: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(5)
    .describe('Consecutive failures that open the circuit.'),
  resetMs: durationMs(1)
    .default(30_000)
    .describe('How long the circuit stays open before one probe is allowed.'),
});

const frameBytes = z
  .int()
  .min(1_024)
  .max(536_870_912)
  .default(16_777_216)
  .describe('The longest message accepted from the server.');

const tool = z.strictObject({
  replay: z
    .enum(['never', 'safe'])
    .nullable()
    .default(null)
    .describe(
      'Whether a call may be repeated after it may have reached the server. null: only if the server is trusted and the tool has readOnlyHint.',
    ),
  cacheMs: durationMs()
    .nullable()
    .default(null)
    .describe(
      "How long a result is cached. 0: never. null: as long as the server's TTL says, if the server is trusted and the tool is read-only.",
    ),
  hidden: z.boolean().default(false).describe('The tool is not listed and cannot be called.'),
  as: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{1,64}$/)
    .nullable()
    .default(null)
    .describe('The name of the tool for clients of the gateway, instead of `server__tool`.'),
  timeoutMs: durationMs(1)
    .nullable()
    .default(null)
    .describe("Overrides the server's `callTimeoutMs` for this tool."),
});

/** The keys of every server, whatever its transport. */
const common = {
  disabled: z.boolean().default(false).describe('Keeps the entry, but the server is not run.'),
  lazy: z
    .boolean()
    .default(true)
    .describe('false: the server is started with the host and kept running.'),
  keepAliveMs: durationMs()
    .default(300_000)
    .describe('Idle time after the last lease before the connection is closed; 0: at once.'),
  isolation: z
    .enum(['auto', 'shared', 'client'])
    .default('auto')
    .describe(
      '`shared`: one connection for all clients; the roots of the first one are used for all. `client`: one for each client. `auto`: shared until the server first sends a request to a client, then one for each; that is remembered. A modern client (2026-07-28) has up to eight: one for each concurrent call, and for each set of roots. ' +
        `The default is client for servers that are known to keep state for one client: ${statefulPackages.join(', ')}.`,
    ),
  trusted: z
    .boolean()
    .default(false)
    .describe("Whether the server's readOnlyHint decides about replay and caching."),
  startTimeoutMs: durationMs(1)
    .default(30_000)
    .describe(
      `How long a start may take until the server is ready. The default is ${slowStartTimeoutMs} when the command is ${[...fetchingCommands].join(', ')}.`,
    ),
  callTimeoutMs: durationMs(1)
    .default(60_000)
    .describe(
      'How long a call may take, from the first dispatch and over all attempts; progress extends it.',
    ),
  maxCallMs: durationMs(1)
    .default(defaultMaxCallMs)
    .describe(
      'How long a call may take in total, whatever its progress. If it is not set: at least `callTimeoutMs`.',
    ),
  concurrency: z
    .int()
    .min(1)
    .max(65_536)
    .default(64)
    .describe('How many calls run at once; 1 for a server that cannot handle concurrent calls.'),
  queue: z
    .int()
    .min(0)
    .max(1_000_000)
    .default(256)
    .describe(
      'How many calls may wait; clients take turns. Any further call is refused as `overloaded`.',
    ),
  circuit: circuit
    .prefault({})
    .describe('The circuit breaker: stops traffic to a server that keeps failing.'),
  tools: z
    .record(z.string().min(1), tool)
    .default({})
    .describe('Settings for single tools, by the name that the server uses.'),
};

const callTimesFit = (server: { callTimeoutMs: number; maxCallMs: number }) =>
  server.callTimeoutMs <= server.maxCallMs;
const callTimesRule = { path: ['maxCallMs'], message: 'must not be less than callTimeoutMs' };

const stdioServer = z
  .strictObject({
    type: z
      .literal('stdio')
      .default('stdio')
      .describe('A process that uses MCP on its standard streams. Inferred from `command`.'),
    command: text().min(1).describe('The program to run: a name looked up in PATH, or a path.'),
    args: z.array(text()).default([]).describe('The arguments, as a list; no shell is involved.'),
    env: z
      .record(z.string().regex(/^[^=\0]+$/), text())
      .default({})
      .describe(
        'Environment variables for the process, in addition to the small safe set it inherits.',
      ),
    cwd: text()
      .default('.')
      .describe(
        `The working directory, relative to the config file's folder. "client": the folder in which holdfast connect was started; the server has one process for each folder, \${workspaceFolder} is that folder, and other clients cannot use it.`,
      ),
    inheritEnv: z
      .array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*\*?$/))
      .default([])
      .describe(
        'More environment variables that the process inherits: "NAME" or "PREFIX_*". A pattern passes on no variable that can make a program run other code, unless `allowEnv` names it.',
      ),
    allowEnv: z
      .array(z.string().regex(/^[^=*\0]+$/))
      .default([])
      .describe(
        'The variables in `env` and `inheritEnv` that can make a program run other code, such as NODE_OPTIONS, LD_PRELOAD or BASH_ENV (SECURITY.md lists them). A server that sets one without naming it here is disabled.',
      ),
    ...common,
    restart: restart.prefault({}).describe('How often and how fast the process is restarted.'),
    limits: z
      .strictObject({
        frameBytes,
        memoryMb: z
          .int()
          .min(1)
          .max(16_777_216)
          .nullable()
          .default(null)
          .describe('Memory of the whole process tree; null: no limit.'),
        processes: z
          .int()
          .min(1)
          .max(1_000_000)
          .nullable()
          .default(null)
          .describe('Processes in the tree; null: no limit.'),
      })
      .prefault({})
      .describe('Limits on what the server may use.'),
  })
  .refine(callTimesFit, callTimesRule)
  .refine((server) => !runsInFolders(server) || server.lazy, {
    path: ['lazy'],
    message: 'must not be false with cwd "client": without a client there is no folder to run in',
  })
  .refine((server) => !runsInFolders(server) || server.isolation !== 'shared', {
    path: ['isolation'],
    message: 'must not be "shared" with cwd "client": it has one process for each folder',
  });

const remoteServer = z
  .strictObject({
    type: z
      .enum(['http', 'sse'])
      .default('http')
      .describe(
        '`http`: Streamable HTTP, inferred from `url`. `sse`: the HTTP+SSE transport of 2024-11-05.',
      ),
    url: z
      .string()
      .refine(isHttpUrl, 'must be an http:// or https:// address')
      .describe('The address of the MCP endpoint.'),
    headers: z
      .record(
        z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/),
        z.string().refine(isHeaderValue, 'must not contain line breaks or NUL'),
      )
      .default({})
      .describe('Headers sent with every request.'),
    ...common,
    restart: restart
      .nullable()
      .default(null)
      .describe(
        'If it is set, the server is ejected when the restart budget is spent. null: it is retried for ever with growing delays.',
      ),
    limits: z
      .strictObject({ frameBytes })
      .prefault({})
      .describe('Limits on what the server may use.'),
  })
  .refine(callTimesFit, callTimesRule);

const serverKinds = z.discriminatedUnion('type', [stdioServer, remoteServer]);

/** One entry of `mcpServers`. The types say what it takes once its `type` has been inferred. */
export const serverSchema = z.preprocess<unknown, typeof serverKinds, z.input<typeof serverKinds>>(
  inferred,
  serverKinds,
);

export type StdioServerConfig = Frozen<z.output<typeof stdioServer>>;
export type RemoteServerConfig = Frozen<z.output<typeof remoteServer>>;
export type ServerConfig = StdioServerConfig | RemoteServerConfig;
export type ToolConfig = Frozen<z.output<typeof tool>>;

/** Adds the values that follow from other keys of the entry. */
function inferred(entry: unknown): unknown {
  if (!isRecord(entry)) return entry;
  const said: Record<string, unknown> = { ...entry };
  const { command, args, url, callTimeoutMs } = said;
  const implied: Record<string, unknown> = {
    type: url !== undefined && command === undefined ? 'http' : 'stdio',
  };
  if (typeof command === 'string' && fetchingCommands.has(programOf(command))) {
    implied['startTimeoutMs'] = slowStartTimeoutMs;
  }
  if (typeof command === 'string' && Array.isArray(args)) {
    if (statefulPackageIn(command, args) !== undefined) implied['isolation'] = 'client';
  }
  if (typeof callTimeoutMs === 'number' && callTimeoutMs > defaultMaxCallMs) {
    implied['maxCallMs'] = callTimeoutMs;
  }
  return { ...implied, ...said };
}

function programOf(command: string): string {
  const name = command.slice(Math.max(command.lastIndexOf('/'), command.lastIndexOf('\\')) + 1);
  return name.toLowerCase().replace(/\.(?:exe|cmd|bat|ps1)$/, '');
}

function isHttpUrl(value: string): boolean {
  return URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
}

function isHeaderValue(value: string): boolean {
  return !/[\r\n\0]/.test(value);
}
