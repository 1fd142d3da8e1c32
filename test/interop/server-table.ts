// The real servers that are compared: packages of servers/package.json, with what each needs to start
// without a key of anybody's. Where a key is wanted any text will do, because nothing is called.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { nodes, serversFolder } from './installation.ts';
import type { Launch } from './peers/stdio-peer.ts';

export interface RealServer {
  /** Its name in the config, and before its tools. */
  readonly name: string;
  readonly package: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Of the package's programs, if it has several. */
  readonly bin?: string;
  readonly node?: '22';
}

const key = 'no-real-key';

export const realServers: readonly RealServer[] = [
  { name: 'everything', package: '@modelcontextprotocol/server-everything', args: ['stdio'] },
  { name: 'files', package: '@modelcontextprotocol/server-filesystem', args: ['.'] },
  { name: 'memory', package: '@modelcontextprotocol/server-memory' },
  { name: 'thinking', package: '@modelcontextprotocol/server-sequential-thinking' },
  { name: 'github', package: '@modelcontextprotocol/server-github' },
  { name: 'postgres', package: '@modelcontextprotocol/server-postgres', args: ['postgres://x'] },
  { name: 'puppeteer', package: '@modelcontextprotocol/server-puppeteer' },
  { name: 'playwright', package: '@playwright/mcp' },
  {
    name: 'devtools',
    package: 'chrome-devtools-mcp',
    bin: 'chrome-devtools-mcp',
    args: ['--no-usage-statistics'],
  },
  { name: 'automation', package: '@executeautomation/playwright-mcp-server' },
  { name: 'browser', package: '@browsermcp/mcp' },
  { name: 'mobile', package: '@mobilenext/mobile-mcp' },
  { name: 'git', package: '@cyanheads/git-mcp-server' },
  { name: 'kubernetes', package: 'mcp-server-kubernetes' },
  { name: 'code-runner', package: 'mcp-server-code-runner' },
  { name: 'chart', package: '@antv/mcp-server-chart' },
  { name: 'mermaid', package: 'mcp-mermaid' },
  { name: 'drawio', package: '@drawio/mcp' },
  { name: 'eslint', package: '@eslint/mcp' },
  { name: 'next-devtools', package: 'next-devtools-mcp' },
  { name: 'shadcn', package: '@jpisnice/shadcn-ui-mcp-server' },
  { name: 'magicui', package: '@magicuidesign/mcp' },
  { name: 'time', package: 'time-mcp' },
  { name: 'fetch', package: 'mcp-fetch-server', bin: 'mcp-fetch-server' },
  { name: 'duckduckgo', package: 'duckduckgo-mcp-server' },
  { name: 'pinecone', package: '@pinecone-database/mcp' },
  { name: 'taskmanager', package: '@kazuph/mcp-taskmanager' },
  { name: 'shrimp', package: 'mcp-shrimp-task-manager' },
  { name: 'context7', package: '@upstash/context7-mcp' },
  { name: 'pdf', package: '@modelcontextprotocol/server-pdf', args: ['--stdio'] },
  { name: 'map', package: '@modelcontextprotocol/server-map', args: ['--stdio'] },
  { name: 'react', package: '@modelcontextprotocol/server-basic-react', args: ['--stdio'] },
  { name: 'mongodb', package: 'mongodb-mcp-server' },
  {
    name: 'supabase',
    package: '@supabase/mcp-server-supabase',
    args: ['--access-token', key],
  },
  {
    name: 'slack',
    package: '@modelcontextprotocol/server-slack',
    env: { SLACK_BOT_TOKEN: key, SLACK_TEAM_ID: key },
  },
  {
    name: 'brave-search',
    package: '@modelcontextprotocol/server-brave-search',
    env: { BRAVE_API_KEY: key },
  },
  { name: 'tavily', package: 'tavily-mcp', env: { TAVILY_API_KEY: key } },
  { name: 'exa', package: 'exa-mcp-server', env: { EXA_API_KEY: key } },
  { name: 'notion', package: '@notionhq/notion-mcp-server', env: { NOTION_TOKEN: key } },
  {
    name: 'figma',
    package: 'figma-developer-mcp',
    args: ['--stdio'],
    env: { FIGMA_API_KEY: key },
  },
  { name: 'airtable', package: 'airtable-mcp-server', env: { AIRTABLE_API_KEY: key } },
  { name: 'circleci', package: '@circleci/mcp-server-circleci', env: { CIRCLECI_TOKEN: key } },
  { name: 'firecrawl', package: 'firecrawl-mcp', env: { FIRECRAWL_API_KEY: key }, node: '22' },
];

/** How it is started, bare and by the gateway: the same program, folder and environment. */
export function launchOf(server: RealServer, folder: string): Launch {
  const root = join(serversFolder, 'node_modules', server.package);
  const { bin } = manifestOf(server);
  const program = typeof bin === 'string' ? bin : bin[server.bin ?? Object.keys(bin)[0] ?? ''];
  if (program === undefined) throw new Error(`${server.package} has no program ${server.bin}`);
  return {
    command: server.node === undefined ? process.execPath : nodes[server.node],
    args: [join(root, program), ...(server.args ?? [])],
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, ...server.env },
    cwd: folder,
  };
}

export function versionOf(server: RealServer): string {
  return manifestOf(server).version;
}

interface Manifest {
  readonly version: string;
  readonly bin: string | Readonly<Record<string, string>>;
}

function manifestOf(server: RealServer): Manifest {
  const file = join(serversFolder, 'node_modules', server.package, 'package.json');
  return JSON.parse(readFileSync(file, 'utf8')) as Manifest;
}
