// One request that wants something started. Most of them are right in every other respect, so that they get as far as
// a request can: to the handler of a method, and where the sender may, to a server. Some are for nobody, on paths and
// with methods that there are not.

import type { Dice } from '../support/dice.ts';
import { type AskOptions, envelope, legacyHeaders, modernHeaders } from '../support/http-front.ts';
import type { Canary } from './canary.ts';
import { luringHeaders, luringMembers, luringQuery, luringText } from './lures.ts';
import { controlAsks, routes, rpcMethods, strangeMethods, strangePaths } from './targets.ts';

export interface Sender {
  readonly token: string | undefined;
  /** Of a legacy client with this token, where there is one. */
  readonly session: string | undefined;
  /** Where a client of 2024 with this token posts its messages. */
  readonly messages: string | undefined;
}

type Json = Readonly<Record<string, unknown>>;

/** Those that get as far as a server. */
const carried = [
  'tools/call',
  'tools/call',
  'prompts/get',
  'resources/read',
  'completion/complete',
];
const mcp = routes.find(({ path }) => path === '/mcp') ?? { path: '/mcp', methods: ['POST'] };

export function attempt(sender: Sender, canary: Canary, dice: Dice): AskOptions {
  const isStrange = dice.chance(0.1);
  // Most of what can be asked is asked there.
  const route = dice.chance(0.6) ? mcp : dice.pick(routes);
  const path = isStrange ? dice.pick(strangePaths) : pathOf(route.path, sender, canary, dice);
  const isOdd = isStrange || dice.chance(0.05);
  // What has a body gets one, most of the time: a session that is ended or listened to is of no more use.
  const isPosted = route.methods.includes('POST') && dice.chance(0.8);
  const method = isOdd ? dice.pick(strangeMethods) : isPosted ? 'POST' : dice.pick(route.methods);
  const isModern = dice.chance(0.5);
  const rpc = dice.chance(0.3) ? dice.pick(carried) : dice.pick(rpcMethods);
  const params = paramsFor(rpc, canary, dice);
  const mirrored = mirroredName(rpc, params);
  const { token, session } = sender;
  return {
    method,
    path: dice.chance(0.2) && !path.includes('?') ? `${path}?${luringQuery(canary, dice)}` : path,
    headers: {
      ...(isModern
        ? { ...modernHeaders(rpc), ...(mirrored === undefined ? {} : { 'mcp-name': mirrored }) }
        : legacyHeaders(rpc === 'initialize' ? undefined : session)),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(dice.chance(0.2) ? luringHeaders(canary, dice) : {}),
    },
    ...(method === 'GET' || method === 'HEAD'
      ? {}
      : { body: bodyOf(rpc, params, isModern, canary, dice) }),
  };
}

/** What a modern request repeats in a header. */
function mirroredName(rpc: string, { name, uri, taskId }: Json): string | undefined {
  const one = rpc.startsWith('resources/') || rpc.startsWith('skills/') ? uri : name;
  const named = rpc.startsWith('tasks/') ? taskId : one;
  return typeof named === 'string' ? encoded(named) : undefined;
}

/** As a header may have it (the specification's own encoding). */
function encoded(text: string): string {
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  return `=?base64?${Buffer.from(text).toString('base64')}?=`;
}

function pathOf(path: string, { messages }: Sender, canary: Canary, dice: Dice): string {
  if (path === '/messages') return messages ?? '/messages?sessionId=x';
  const names = path.startsWith('/mcp/r/') ? ['little', 'all', 'elsewhere'] : ['seen', 'unseen'];
  const name = dice.chance(0.1) ? encodeURIComponent(luringText(canary, dice)) : dice.pick(names);
  return path.replace(/:\w+$/, name);
}

function bodyOf(rpc: string, params: Json, isModern: boolean, canary: Canary, dice: Dice): unknown {
  if (dice.chance(0.05)) return luringMembers(canary, dice);
  if (dice.chance(0.03)) return controlMessage(canary, dice);
  const meta = {
    ...(isModern ? envelope : {}),
    ...(dice.chance(0.3) ? luringMembers(canary, dice) : {}),
  };
  const message = {
    ...(dice.chance(0.15) ? luringMembers(canary, dice) : {}),
    jsonrpc: '2.0',
    ...(rpc.startsWith('notifications/') ? {} : { id: dice.between(1, 1_000) }),
    method: rpc,
    params: { ...params, ...(isModern || dice.chance(0.3) ? { _meta: meta } : {}) },
  };
  return dice.chance(0.03) ? [message, message] : message;
}

/** As an operator says it on the control socket. */
function controlMessage(canary: Canary, dice: Dice): Json {
  const server = luringText(canary, dice);
  const request = { ask: dice.pick(controlAsks), server, tool: server, args: '', words: server };
  const greeting = { hello: 'holdfast', versions: [1], program: '1', as: 'operator', folder: '/' };
  return dice.pick<Json>([greeting, { id: 1, request }, { ...greeting, id: 1, request }]);
}

/** What the method needs, and what the sender hopes for. */
function paramsFor(rpc: string, canary: Canary, dice: Dice): Json {
  const isLure = dice.chance(0.4);
  const text = luringText(canary, dice);
  const lure = luringMembers(canary, dice);
  const tools = [
    'seen__open_000',
    'unseen__closed_001',
    'holdfast__health_snapshot',
    'open_000',
    'call_tool',
  ];
  const name = isLure ? text : dice.pick(tools);
  const uri = isLure ? text : dice.pick(['note://seen/open_000', 'note://unseen/closed_001']);
  const argument = { name: 'command', value: text };
  const needed: Readonly<Record<string, Json>> = {
    initialize: {
      protocolVersion: '2025-11-25',
      capabilities: { roots: {}, experimental: lure },
      clientInfo: { name: text, version: '1', ...lure },
    },
    'tools/call': { name, arguments: { ...lure, name: text, arguments: lure } },
    'prompts/get': { name, arguments: { command: text } },
    'completion/complete': { ref: { type: 'ref/prompt', name, uri }, argument, context: lure },
    'logging/setLevel': { level: dice.pick(['debug', text]) },
    'subscriptions/listen': {
      notifications: { toolsListChanged: true, resourceSubscriptions: [uri] },
    },
  };
  const asked = Object.hasOwn(needed, rpc) ? needed[rpc] : undefined;
  const cursor = dice.chance(0.3) ? { cursor: text } : {};
  const base = asked ?? { name, uri, taskId: text, server: text, ...cursor };
  return dice.chance(0.8) ? { ...base, ...lure } : base;
}
