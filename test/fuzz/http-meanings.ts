// Requests that get past the edge: right as HTTP, right as JSON-RPC, and for a method that exists, but
// with parameters of any type. They ask the gateway behind the edge, which must answer each of them in
// JSON-RPC and may never run into a defect of its own over what a stranger has put there.

import type { Dice } from '../simulation/random.ts';
import { envelope, goodCall, type HttpRequest, withBody, withHeader } from './http-request.ts';
import { inheritedNames, inheritedTexts } from './inherited-names.ts';
import { JsonWriter } from './json-writer.ts';

const methods: readonly [string, ...string[]] = [
  'initialize',
  'ping',
  'server/discover',
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'completion/complete',
  'logging/setLevel',
  'tasks/get',
  'tasks/update',
  'tasks/cancel',
  'tasks/list',
  'tasks/result',
  'sampling/createMessage',
  ...inheritedNames,
];

const members: readonly [string, ...string[]] = [
  'name',
  'uri',
  'arguments',
  'cursor',
  'ref',
  'argument',
  'context',
  'level',
  'task',
  'taskId',
  'inputResponses',
  'requestState',
  'protocolVersion',
  'capabilities',
  'clientInfo',
  ...inheritedNames,
];

const values: readonly [string, ...string[]] = [
  '"files__echo"',
  '"files__get"',
  '"holdfast__health_snapshot"',
  '"holdfast__telemetry_snapshot"',
  '"2025-11-25"',
  '"2025-03-26"',
  '"info"',
  '"test://x"',
  '{"type":"ref/prompt","name":"x"}',
  '{"type":"ref/resource","uri":"x"}',
  '{"name":"a","value":"b"}',
  '{"elicitation":{},"sampling":{},"roots":{"listChanged":true},"tasks":{}}',
  '{"experimental":[],"extensions":null}',
  '{}',
  '[]',
  'null',
  '""',
  ...inheritedTexts,
];

const metaKeys: readonly [string, ...string[]] = [
  'progressToken',
  'io.modelcontextprotocol/clientInfo',
  'io.modelcontextprotocol/clientCapabilities',
  'io.modelcontextprotocol/logLevel',
  'io.modelcontextprotocol/related-task',
  'holdfast/idempotencyKey',
  'traceparent',
  ...inheritedNames,
];

const ids: readonly [string, ...string[]] = ['1', '"a"', '0', '-1', ...inheritedTexts];

/** What the header Mcp-Name mirrors, by method. */
const mirrored: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/** Without a session it is of the modern era. */
export function meaningfulRequest(
  gate: { readonly port: number; readonly token: string | null },
  session: string | undefined,
  dice: Dice,
): HttpRequest {
  const writer = new JsonWriter(dice);
  const method = dice.pick(methods);
  const params = new Map<string, string>();
  for (let count = dice.between(0, 4); count > 0; count -= 1) {
    params.set(dice.pick(members), someValue(writer));
  }
  const meta = new Map(
    Object.entries(envelope).map(([key, value]) => [key, JSON.stringify(value)]),
  );
  if (session !== undefined) meta.clear();
  if (dice.chance(0.4)) meta.set(dice.pick(metaKeys), someValue(writer));
  if (session === undefined || meta.size > 0) params.set('_meta', objectText(meta));
  const body = `{"jsonrpc":"2.0","id":${dice.pick(ids)},"method":${JSON.stringify(method)},"params":${objectText(params)}}`;
  const request = withBody(goodCall('', gate.port, gate.token), body);
  if (session !== undefined) return withSession(request, session, '2025-11-25');
  const source = Object.hasOwn(mirrored, method) ? params.get(mirrored[method] ?? '') : undefined;
  const name = source === undefined ? undefined : headerText(source);
  return withHeader(withHeader(request, 'Mcp-Method', method), 'Mcp-Name', name);
}

/** The headers of the legacy era instead of those of the modern one. */
export function withSession(request: HttpRequest, session: string, revision: string): HttpRequest {
  const bare = withHeader(withHeader(request, 'Mcp-Method', undefined), 'Mcp-Name', undefined);
  return withHeader(withHeader(bare, 'MCP-Protocol-Version', revision), 'Mcp-Session-Id', session);
}

function someValue(writer: JsonWriter): string {
  return writer.dice.chance(0.6) ? writer.dice.pick(values) : writer.value(3);
}

function objectText(entries: ReadonlyMap<string, string>): string {
  const texts = [...entries].map(([key, value]) => `${JSON.stringify(key)}:${value}`);
  return `{${texts.join(',')}}`;
}

/** As a header carries it; what is not text has no header. */
function headerText(source: string): string | undefined {
  const value: unknown = JSON.parse(source);
  if (typeof value !== 'string') return undefined;
  if (/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !value.startsWith('=?'))
    return value;
  return `=?base64?${Buffer.from(value).toString('base64')}?=`;
}
