// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders are the subject

// Config files that are right, ours and those of other clients: what strange ones are made from.

export type Value =
  | null
  | boolean
  | number
  | string
  | Value[]
  | { [key: string]: Value }
  | Pairs
  | Raw;

/** A value that is text already: too deep to be built as anything else. */
export class Raw {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An object as its members stand in the text: a key may stand twice. */
export class Pairs {
  readonly members: [string, Value][];

  constructor(members: [string, Value][]) {
    this.members = members;
  }
}

const stdioServer: Value = {
  command: 'node',
  args: ['server.js', '--flag', '${SECRET_A}'],
  env: { TOKEN: '${env:SECRET_B}', PLAIN: 'x' },
  cwd: '.',
  inheritEnv: ['EXTRA_*'],
  lazy: true,
  keepAliveMs: 1000,
  isolation: 'auto',
  trusted: false,
  startTimeoutMs: 1000,
  callTimeoutMs: 1000,
  maxCallMs: 2000,
  concurrency: 1,
  queue: 0,
  restart: { max: 5, windowMs: 300_000, minDelayMs: 100, maxDelayMs: 5000 },
  circuit: { threshold: 5, resetMs: 30_000 },
  limits: { frameBytes: 16_777_216, memoryMb: null, processes: null },
  tools: { write: { replay: 'never', cacheMs: 0, hidden: false, as: null, timeoutMs: null } },
};

const remoteServer: Value = {
  type: 'http',
  url: 'https://example.com/${SECRET_A}/mcp',
  headers: { Authorization: 'Bearer ${env:SECRET_B}' },
  limits: { frameBytes: 2048 },
};

export const ownFile: Value = {
  $schema: './schema.json',
  mcpServers: { files: stdioServer, docs: remoteServer },
  naming: 'prefix',
  surface: 'direct',
  hostTools: true,
  maxIdle: 16,
  http: { listen: '127.0.0.1:0', auth: 'token', allowedHosts: [], allowedOrigins: [] },
  cache: { entriesPerTool: 64, maxBytes: 1024 },
  telemetry: { eventLog: true, maxBytes: 65_536 },
};

export const foreignFiles: readonly [Value, ...Value[]] = [
  {
    numStartups: 7,
    mcpServers: {
      'My Files!': { command: 'npx', args: ['-y', 'x', '${workspaceFolder}'], disabled: false },
      remote: { type: 'streamable-http', url: 'http://localhost:1/mcp', timeout: 30 },
      off: { command: 'x', disabled: true },
    },
  },
  {
    inputs: [{ id: 'key', type: 'promptString', password: true, default: 'd' }],
    servers: {
      one: {
        command: 'node',
        args: ['${input:key}', '${input:none}'],
        envFile: '${SECRET_A}/.env',
      },
      two: { command: 'node', envFile: '.env', env: { N: 1, NONE: null }, dev: { watch: 'x' } },
    },
  },
  {
    mcpServers: {
      gemini: { httpUrl: 'http://localhost/mcp', excludeTools: ['a'], trust: true },
      wind: { serverUrl: 'http://localhost/sse', disabledTools: ['a', 'b'], transport: 'sse' },
      holdfast: { command: 'holdfast', args: ['connect'] },
    },
  },
];
