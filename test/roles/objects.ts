// What there is to see in the tables of roles: three servers with the same things in them, and a word for
// each thing that stands in its definition and in its result, and nowhere else. Who hears the word has seen
// the thing.

import { posix } from 'node:path';
import type { Heard, Script, ScriptedChild } from '../support/scripted-server.ts';
import { tool } from '../support/scripted-server.ts';

export const serverNames = ['alpha', 'beta', 'gamma'] as const;
export type ServerName = (typeof serverNames)[number];

export type ObjectKind =
  | 'tool'
  | 'prompt'
  | 'resource'
  | 'template'
  | 'skill'
  | 'instructions'
  | 'method';

export interface Thing {
  readonly server: ServerName;
  readonly kind: ObjectKind;
  /** The name or address at its server. */
  readonly name: string;
  readonly word: string;
}

export const toolNames = ['read', 'write', 'ask', 'long', 'constructor'] as const;
const promptNames = ['p', 'q'] as const;
const resourceNames = ['a', 'b'] as const;
/** Every server has this address. */
export const sharedUri = 'x://both';
export const ownMethod = 'x-own/method';

const word = (server: string, kind: string, name: string) =>
  `word-${server}-${kind}-${name.replace(/\W+/g, '_')}-end`;

function thing(server: ServerName, kind: ObjectKind, name: string): Thing {
  return { server, kind, name, word: word(server, kind, name) };
}

export function thingsOf(server: ServerName): readonly Thing[] {
  return [
    ...toolNames.map((name) => thing(server, 'tool', name)),
    ...promptNames.map((name) => thing(server, 'prompt', name)),
    ...resourceNames.map((name) => thing(server, 'resource', `x://${server}/${name}`)),
    thing(server, 'resource', sharedUri),
    thing(server, 'template', `y://${server}/{n}`),
    thing(server, 'skill', `z://${server}/s/SKILL.md`),
    thing(server, 'instructions', ''),
    thing(server, 'method', ownMethod),
  ];
}

export const things: readonly Thing[] = serverNames.flatMap(thingsOf);

export const tasks = 'io.modelcontextprotocol/tasks';

/** As a server reads an address that takes it for a URL and looks into its own files by the path. */
function asRead(address: string): string {
  if (/[{}]/.test(address) || !URL.canParse(address)) return address;
  const { protocol, host, pathname } = new URL(address);
  const path = posix.normalize(`/${decodeURIComponent(pathname)}`).replace(/\/$/, '');
  return `${protocol}//${host.toLowerCase()}${path}`;
}

/** Other ways to write an address of this table; a server reads them all as the same. */
export function spellings(address: string): readonly string[] {
  const end = address.lastIndexOf('/') + 1;
  const at = (text: string) => address.slice(0, end) + text + address.slice(end);
  const tail = address.slice(end);
  const all = [
    ...['\t', '\n', '%0a/../', './', 'z/../', '.\t/', '/', 'z/.\t./', 'z/%2e%2e/', '%2e/'].map(at),
    ...['?', '#', '?x', '#/x', ' ', '\t', '/', '/.'].map((text) => address + text),
    ...[`${address.slice(0, end)}%${tail.charCodeAt(0).toString(16)}${tail.slice(1)}`],
    ...[`\t${address}`, ` ${address}`, address.replace(':', '\t:'), address.replace('x', 'X')],
    ...[address.replace('//', '//u@'), address.replace(/\/\/\w+/, (host) => host.toUpperCase())],
  ];
  return all.filter((text) => asRead(text) === asRead(address));
}

/** A server with a template for all addresses below its own: it is asked for whatever a client writes. */
export function readsAnything(server: ServerName, script: Script): Script {
  const uriTemplate = `x://${server}/{+path}`;
  const { resourceTemplates = [] } = script;
  return { ...script, resourceTemplates: [...resourceTemplates, { uriTemplate, name: 'any' }] };
}

/** What ran at a server, in the order in which it did. */
export type Ran = (server: ServerName, kind: ObjectKind, name: string) => void;

export function scriptOf(server: ServerName, ran: Ran): Script {
  const said = (kind: ObjectKind, name: string) => word(server, kind, name);
  const task = (id: string) => ({
    ...{ taskId: id, status: 'working', createdAt: '', lastUpdatedAt: '', ttlMs: 60_000 },
    statusMessage: said('tool', 'long'),
  });
  const text = (words: string) => ({ content: [{ type: 'text', text: words }] });
  const called = ({ params }: Heard, child: ScriptedChild) => {
    const name = String(params['name']);
    ran(server, 'tool', name);
    if (name === 'long') {
      const made = task(`${server}-${child.pid}-${Math.random()}`);
      return 'task' in params ? { task: made } : { resultType: 'task', ...made };
    }
    if (name === 'ask' && !('inputResponses' in params)) {
      return {
        resultType: 'input_required',
        inputRequests: { one: { method: 'roots/list' } },
        requestState: said('tool', 'ask'),
      };
    }
    return { ...text(said('tool', name)), ...(name === 'read' ? { ttlMs: 60_000 } : {}) };
  };
  const resource = (written: string) => {
    const uri = asRead(written);
    const kind = uri.startsWith('y:') ? 'template' : uri.startsWith('z:') ? 'skill' : 'resource';
    ran(server, kind, uri);
    return said(kind, kind === 'template' ? uri.replace(/1$/, '{n}') : uri);
  };
  const skill = `z://${server}/s/SKILL.md`;
  return {
    era: 'modern',
    instructions: said('instructions', ''),
    capabilities: {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      completions: {},
      logging: {},
      extensions: { [tasks]: {}, 'io.modelcontextprotocol/skills': {} },
    },
    tools: toolNames.map((name) =>
      tool(name, {
        description: said('tool', name),
        ...(name === 'read' ? { annotations: { readOnlyHint: true } } : {}),
      }),
    ),
    prompts: promptNames.map((name) => ({ name, description: said('prompt', name) })),
    resources: [...resourceNames.map((name) => `x://${server}/${name}`), sharedUri].map((uri) => ({
      uri,
      name: said('resource', uri),
    })),
    resourceTemplates: [
      { uriTemplate: `y://${server}/{n}`, name: said('template', `y://${server}/{n}`) },
    ],
    on: {
      'tools/call': called,
      'prompts/get': ({ params }) => {
        ran(server, 'prompt', String(params['name']));
        return { description: said('prompt', String(params['name'])), messages: [] };
      },
      'resources/read': ({ params }) => {
        const uri = String(params['uri']);
        return { contents: [{ uri, text: resource(uri) }] };
      },
      'resources/directory/read': ({ params }) => {
        const uri = String(params['uri']);
        return { resources: [{ uri, name: resource(uri) }] };
      },
      'skills/list': () => ({
        skills: [{ uri: skill, frontmatter: { name: said('skill', skill) }, resources: [] }],
      }),
      'skills/get': ({ params }) => ({
        contents: [{ uri: String(params['uri']), text: resource(String(params['uri'])) }],
      }),
      'completion/complete': ({ params }) => {
        const { name, uri } = params['ref'] as { name?: string; uri?: string };
        // It reads whichever member there is.
        const values = [
          ...(name === undefined ? [] : [said('prompt', name)]),
          ...(uri === `y://${server}/{n}` ? [said('template', uri)] : []),
        ];
        return { completion: { values } };
      },
      [ownMethod]: () => {
        ran(server, 'method', ownMethod);
        return { own: said('method', ownMethod) };
      },
      'tasks/get': ({ params }) => ({ resultType: 'complete', ...task(String(params['taskId'])) }),
      'tasks/update': () => ({ resultType: 'complete' }),
      'tasks/cancel': ({ params }) => ({
        ...{ resultType: 'complete', ...task(String(params['taskId'])), status: 'cancelled' },
      }),
    },
  };
}
