import { describe, expect, it } from 'vitest';
import { configSchema } from './schema.ts';

const parse = (entry: unknown) => configSchema.parse({ mcpServers: { it: entry } }).mcpServers.it;

describe('the config schema', () => {
  it('gives a process the documented defaults', () => {
    expect(parse({ command: 'node' })).toEqual({
      type: 'stdio',
      allowEnv: [],
      command: 'node',
      args: [],
      env: {},
      cwd: '.',
      inheritEnv: [],
      disabled: false,
      lazy: true,
      keepAliveMs: 300_000,
      isolation: 'auto',
      trusted: false,
      startTimeoutMs: 30_000,
      callTimeoutMs: 60_000,
      maxCallMs: 600_000,
      concurrency: 64,
      queue: 256,
      restart: { max: 5, windowMs: 300_000, minDelayMs: 100, maxDelayMs: 5_000 },
      circuit: { threshold: 5, resetMs: 30_000 },
      limits: { frameBytes: 16_777_216, memoryMb: null, processes: null },
      tools: {},
    });
  });

  it('gives the host its defaults when nothing is said', () => {
    expect(configSchema.parse({})).toEqual({
      mcpServers: {},
      store: 'sqlite',
      broker: null,
      audit: 'off',
      roles: {},
      local: { role: null },
      drainMs: 10_000,
      rollout: 'manual',
      naming: 'prefix',
      surface: 'direct',
      hostTools: true,
      http: { listen: '127.0.0.1:4100', auth: 'token', allowedHosts: [], allowedOrigins: [] },
      maxIdle: 16,
      listWaitMs: 10_000,
      cache: { entriesPerTool: 64, maxBytes: 67_108_864 },
      telemetry: { eventLog: true, maxBytes: 8_388_608 },
    });
  });

  it.each(['npx', 'uvx', 'bunx', 'pipx', 'docker', '/usr/bin/npx', 'C:\\nodejs\\npx.cmd'])(
    'lets %s take long to start',
    (command) => {
      expect(parse({ command })).toMatchObject({ startTimeoutMs: 120_000 });
      expect(parse({ command, startTimeoutMs: 5 })).toMatchObject({ startTimeoutMs: 5 });
    },
  );

  it('infers the type from what an entry has', () => {
    expect(parse({ command: 'x' })).toMatchObject({ type: 'stdio' });
    expect(parse({ url: 'https://example.com/mcp' })).toMatchObject({ type: 'http' });
    expect(parse({ url: 'https://example.com/sse', type: 'sse' })).toMatchObject({ type: 'sse' });
  });

  it('distinguishes a remote server with a restart budget from one without', () => {
    const url = 'https://example.com/mcp';
    expect(parse({ url })).toMatchObject({ restart: null });
    expect(parse({ url, restart: {} })).toMatchObject({ restart: { max: 5 } });
  });

  it('distinguishes a configured tool from one without settings', () => {
    const entry = parse({
      command: 'x',
      tools: { read: {}, write: { replay: 'never', cacheMs: 0 } },
    });
    expect(entry?.tools).toEqual({
      read: { replay: null, cacheMs: null, hidden: false, as: null, timeoutMs: null },
      write: { replay: 'never', cacheMs: 0, hidden: false, as: null, timeoutMs: null },
    });
  });

  it('raises maxCallMs to a longer callTimeoutMs, unless it was set against it', () => {
    expect(parse({ command: 'x', callTimeoutMs: 900_000 })).toMatchObject({ maxCallMs: 900_000 });
    const refused = { command: 'x', callTimeoutMs: 900_000, maxCallMs: 1_000 };
    expect(configSchema.safeParse({ mcpServers: { it: refused } }).success).toBe(false);
  });

  it.each([
    ['a wait that Node would cut to nothing', { command: 'x', keepAliveMs: 2 ** 31 }],
    ['an address that is not HTTP', { url: 'file:///etc/passwd' }],
    ['a header that smuggles a second one', { url: 'http://x/', headers: { A: 'b\r\nC: d' } }],
    ['a header name that is no token', { url: 'http://x/', headers: { 'A b': 'c' } }],
    ['a variable name with an equals sign', { command: 'x', env: { 'A=B': 'c' } }],
    ['an argument with NUL', { command: 'x', args: ['a\0b'] }],
    ['a wildcard that passes everything on', { command: 'x', inheritEnv: ['*'] }],
    ['delays the wrong way round', { command: 'x', restart: { minDelayMs: 9, maxDelayMs: 1 } }],
    ['an isolation that does not exist', { command: 'x', isolation: 'process' }],
    ['both a command and an address', { command: 'x', url: 'http://x/' }],
  ])('refuses %s', (_, entry) => {
    expect(configSchema.safeParse({ mcpServers: { it: entry } }).success).toBe(false);
  });
});
