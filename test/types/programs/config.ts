// Configs that must not compile, each with the error at the place of the mistake, and some that must.

import { createHost, type HostOptions, type ServerInput } from 'holdfast';

export const whole: HostOptions = {
  mcpServers: {
    files: { command: 'npx', args: ['-y', 'files'], env: { A: '1' }, cwd: '.', lazy: false },
    docs: { url: 'https://example.com/mcp', headers: { Authorization: 'Bearer x' } },
    old: { type: 'sse', url: 'https://example.com/sse', restart: { max: 3 }, callTimeoutMs: 1_000 },
    bank: {
      command: 'bank',
      tools: { deposit: { replay: 'never', cacheMs: null, hidden: false } },
    },
    tight: { command: 'x', limits: { memoryMb: 512, processes: null }, isolation: 'client' },
    off: { command: 'x', disabled: true, trusted: undefined },
  },
  maxIdle: 4,
  cache: { entriesPerTool: 1 },
  http: { listen: '127.0.0.1:0', auth: 'none' },
  stateDir: '/tmp/state',
  report: (line) => line.length,
};

export const fromFile = createHost({ configFile: 'holdfast.json', startedBy: 'a test' });
export const empty = createHost();

// --- misspelt keys -------------------------------------------------------------------------

void createHost({ mcpServer: {} }); // error at mcpServer
void createHost({ mcpServers: { git: { comand: 'uvx' } } }); // error at comand
void createHost({ mcpServers: { git: { command: 'uvx', keepAlive: 5 } } }); // error at keepAlive
void createHost({ mcpServers: { git: { command: 'uvx', circuit: { treshold: 1 } } } }); // error at treshold
void createHost({ mcpServers: { git: { command: 'a', tools: { t: { cache: 1 } } } } }); // error at cache
void createHost({ cache: { maxByte: 1 } }); // error at maxByte
void createHost({ statedir: '/tmp' }); // error at statedir

// --- wrong types ---------------------------------------------------------------------------

void createHost({ mcpServers: { git: { command: ['uvx'] } } }); // error at command
void createHost({ mcpServers: { git: { command: 'uvx', args: 'mcp-server-git' } } }); // error at args
void createHost({ mcpServers: { git: { command: 'uvx', env: { PORT: 1 } } } }); // error at PORT
void createHost({ mcpServers: { git: { command: 'uvx', lazy: 'yes' } } }); // error at lazy
void createHost({ mcpServers: { git: { command: 'uvx', isolation: 'none' } } }); // error at isolation
void createHost({ mcpServers: { git: { command: 'uvx', keepAliveMs: '60s' } } }); // error at keepAliveMs
void createHost({ mcpServers: { docs: { type: 'websocket', url: 'ws://a' } } }); // error at type
void createHost({ maxIdle: '4' }); // error at maxIdle
void createHost({ naming: 'prefixed' }); // error at naming

// --- missing fields ------------------------------------------------------------------------

void createHost({ mcpServers: { git: { args: ['mcp-server-git'] } } }); // error at git
void createHost({ mcpServers: { git: {} } }); // error at git
export const remote: ServerInput = { type: 'http' }; // error at remote
export const child: ServerInput = { type: 'stdio', args: [] }; // error at child
