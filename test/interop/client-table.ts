// The real clients that are put in front of the gateway: packages of clients/package.json, each with
// the script that drives it, the Node it needs and the transports it has.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { clientsFolder, nodes } from './installation.ts';

export type Transport = 'http' | 'stdio' | 'sse';

export interface RealClient {
  /** How it is asked for and shown. */
  readonly name: string;
  readonly package: string;
  /** A file of clients/, without its ending. */
  readonly script: string;
  readonly transports: readonly Transport[];
  readonly node?: keyof typeof nodes;
  /** What the script wants to know besides. */
  readonly options?: Readonly<Record<string, string>>;
}

const both = ['http', 'stdio'] as const;

export const realClients: readonly RealClient[] = [
  {
    name: 'sdk-1',
    package: '@modelcontextprotocol/sdk',
    script: 'sdk-1',
    transports: ['http', 'stdio', 'sse'],
  },
  { name: 'sdk-2', package: '@modelcontextprotocol/client', script: 'sdk-2', transports: both },
  {
    name: 'sdk-2-auto',
    package: '@modelcontextprotocol/client',
    script: 'sdk-2',
    transports: both,
    options: { mode: 'auto' },
  },
  {
    name: 'ai-sdk-1',
    package: 'ai-sdk-mcp-1',
    script: 'ai-sdk',
    transports: both,
    options: { package: 'ai-sdk-mcp-1' },
  },
  {
    name: 'ai-sdk-2',
    package: '@ai-sdk/mcp',
    script: 'ai-sdk',
    transports: both,
    node: 22,
    options: { package: '@ai-sdk/mcp' },
  },
  {
    name: 'openai-agents',
    package: '@openai/agents-core',
    script: 'openai-agents',
    transports: both,
  },
  {
    name: 'langchain',
    package: '@langchain/mcp-adapters',
    script: 'langchain',
    transports: both,
  },
  { name: 'mastra', package: '@mastra/mcp', script: 'mastra', transports: both, node: 22 },
  { name: 'mcp-remote', package: 'mcp-remote', script: 'mcp-remote', transports: ['http'] },
  {
    name: 'inspector',
    package: '@modelcontextprotocol/inspector',
    script: 'inspector',
    transports: both,
    node: 22,
  },
  { name: 'mcporter', package: 'mcporter', script: 'mcporter', transports: both, node: 24 },
];

/** Those that are a library in a program of its own, and keep a connection over HTTP. */
export const sessionClients: readonly RealClient[] = realClients.filter(({ name }) =>
  [
    'sdk-1',
    'sdk-2',
    'sdk-2-auto',
    'ai-sdk-1',
    'ai-sdk-2',
    'openai-agents',
    'langchain',
    'mastra',
  ].includes(name),
);

export function nodeOf({ node }: RealClient): string {
  return node === undefined ? process.execPath : nodes[node];
}

/** The real name of the package and its version. */
export function packageOf(client: RealClient): { readonly name: string; readonly version: string } {
  const file = join(clientsFolder, 'node_modules', client.package, 'package.json');
  return JSON.parse(readFileSync(file, 'utf8')) as { name: string; version: string };
}
