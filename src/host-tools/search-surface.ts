// The three tools that replace all others when the config says `surface: "search"`: find a tool,
// read its arguments, call it. A model sees these descriptions in every conversation, so they are
// as short as possible. search-results.ts renders what is found and described; call-tool.ts reads a
// call, which runs through the same pipeline as all others.

import { quoted } from './line-words.ts';
import { argumentMembers, given, type Invalid, invalid } from './own-arguments.ts';

export const searchSurfaceNames = ['search_tools', 'describe_tool', 'call_tool'] as const;

export type SearchSurfaceName = (typeof searchSurfaceNames)[number];

export function isSearchSurfaceTool(name: string): name is SearchSurfaceName {
  return (searchSurfaceNames as readonly string[]).includes(name);
}

// --- arguments -----------------------------------------------------------------------------

const defaultLimit = 10;
export const maxLimit = 50;

export interface SearchQuestion {
  readonly kind: 'search';
  readonly query: string;
  readonly limit: number;
  /** Only the tools of this server, if one is named. */
  readonly server: string | undefined;
}

/** The arguments are the parsed value; absent ones are undefined. */
export function readSearchTools(args: unknown): SearchQuestion | Invalid {
  const tool = 'search_tools';
  const reading = argumentMembers(tool, args, ['query', 'limit', 'server']);
  if (reading.kind === 'invalid') return reading;
  const { query, limit = defaultLimit, server } = reading.members;
  if (typeof query !== 'string')
    return mustBe(tool, 'query', 'a text, for example "read file"', query);
  if (!isLimit(limit)) return mustBe(tool, 'limit', `a whole number from 1 to ${maxLimit}`, limit);
  if (server !== undefined && (typeof server !== 'string' || server === '')) {
    return mustBe(tool, 'server', 'the name of a server; leave it out to search all', server);
  }
  return { kind: 'search', query, limit, server };
}

export interface DescribeQuestion {
  readonly kind: 'describe';
  readonly name: string;
}

export function readDescribeTool(args: unknown): DescribeQuestion | Invalid {
  const tool = 'describe_tool';
  const reading = argumentMembers(tool, args, ['name']);
  if (reading.kind === 'invalid') return reading;
  const { name } = reading.members;
  if (typeof name !== 'string' || name === '') {
    return mustBe(tool, 'name', 'the name of a tool as returned by search_tools', name);
  }
  return { kind: 'describe', name };
}

function isLimit(limit: unknown): limit is number {
  return Number.isInteger(limit) && Number(limit) >= 1 && Number(limit) <= maxLimit;
}

function mustBe(tool: string, name: string, what: string, value: unknown): Invalid {
  const found = value === undefined ? 'is missing' : `is ${given(value)}`;
  return invalid(tool, `the argument ${quoted(name)} ${found}; it must be ${what}`);
}

// --- definitions ---------------------------------------------------------------------------

/** More names than this are not listed, to keep the description short. */
const mostServers = 40;

/**
 * As JSON text, in the order of their use. The servers are those whose tools the caller may see.
 */
export function searchSurfaceDefinitions(
  servers: readonly string[] = [],
  mayList: (tool: string) => boolean = () => true,
): readonly string[] {
  const tools = [searchTools(servers), describeTool, callTool];
  return tools.filter(({ name }) => mayList(name)).map((tool) => JSON.stringify(tool));
}

const looking = { readOnlyHint: true, idempotentHint: true, openWorldHint: false } as const;

function searchTools(servers: readonly string[]) {
  return {
    name: 'search_tools',
    title: 'Search tools',
    description:
      'Finds tools by what they do. This endpoint has more tools than it lists: 1. search_tools finds them, ' +
      '2. describe_tool shows what one takes, 3. call_tool runs it. Returns one line per tool, best match first.' +
      serverList(servers),
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'A few words, e.g. "read file"' },
        limit: { type: 'integer', minimum: 1, maximum: maxLimit, default: defaultLimit },
        server: { type: 'string', description: 'Only the tools of this server' },
      },
      required: ['query'],
      additionalProperties: false,
    },
    annotations: looking,
  };
}

function serverList(servers: readonly string[]): string {
  if (servers.length === 0) return '';
  const rest = servers.length - mostServers;
  const names = servers.slice(0, mostServers).join(', ');
  return ` Servers: ${names}${rest > 0 ? ` and ${rest} more` : ''}.`;
}

const describeTool = {
  name: 'describe_tool',
  title: 'Describe a tool',
  description:
    'The definition of one tool: what it does and the schema of its arguments. Use it before you call a tool for the first time.',
  inputSchema: {
    type: 'object',
    properties: { name: { type: 'string', description: 'As returned by search_tools' } },
    required: ['name'],
    additionalProperties: false,
  },
  annotations: looking,
} as const;

/** The effect depends on the called tool, so no harmless hint may be given. */
const callTool = {
  name: 'call_tool',
  title: 'Call a tool',
  description: "Runs a tool that search_tools has found and returns that tool's own result.",
  inputSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'As returned by search_tools' },
      arguments: { type: 'object', description: 'What the schema shown by describe_tool asks for' },
    },
    required: ['name'],
    additionalProperties: false,
  },
  annotations: {
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: false,
    openWorldHint: true,
  },
} as const;
