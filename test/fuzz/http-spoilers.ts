// The ways to spoil a request that was right and leave it HTTP. The answer to each is known: a status,
// the code of the JSON-RPC error, and that nothing has reached a server.

import type { Dice } from '../simulation/random.ts';
import { type HttpRequest, withBody, withHeader } from './http-request.ts';
import { inheritedNames } from './inherited-names.ts';

export interface Spoiler {
  readonly name: string;
  readonly status: number;
  /** Of the error in the answer; undefined where no JSON-RPC is promised. */
  readonly code?: number;
  /** Only where a token is asked for. */
  readonly isAboutTokens?: boolean;
  readonly spoil: (request: HttpRequest, dice: Dice) => HttpRequest;
}

const header =
  (name: string, ...values: [string | undefined, ...(string | undefined)[]]) =>
  (request: HttpRequest, dice: Dice) =>
    withHeader(request, name, dice.pick(values));

const text = (change: (text: string) => string) => (request: HttpRequest) =>
  withBody(request, change(request.body.toString()));

/** One more of a header that means something only once. */
const again =
  (...headers: [readonly [string, string], ...(readonly [string, string])[]]) =>
  (request: HttpRequest, dice: Dice) => {
    const more = dice.pick(headers);
    const { headers: own } = request;
    return { ...request, headers: dice.chance(0.5) ? [more, ...own] : [...own, more] };
  };

export const spoilers: readonly [Spoiler, ...Spoiler[]] = [
  {
    name: 'a header twice',
    status: 400,
    code: -32_000,
    spoil: again(
      ['Host', 'evil.example'],
      ['host', '127.0.0.1'],
      ['CONTENT-TYPE', 'text/plain'],
      ['Content-Type', 'application/json'],
    ),
  },
  {
    name: 'a token twice',
    status: 400,
    code: -32_000,
    isAboutTokens: true,
    spoil: again(['Authorization', 'Bearer hf_wrong'], ['authorization', '']),
  },
  {
    name: 'an encoded body',
    status: 415,
    code: -32_000,
    spoil: header('Content-Encoding', 'gzip', 'br', 'identity, gzip', 'x', 'aws-chunked'),
  },
  {
    name: 'a foreign host',
    status: 403,
    code: -32_000,
    spoil: header(
      'Host',
      'evil.example',
      'evil.example:4100',
      '127.0.0.1.evil.example',
      '[::1',
      'a b',
      '127.0.0.1:99999999',
      '127.0.0.1@evil.example',
    ),
  },
  {
    name: 'a foreign origin',
    status: 403,
    code: -32_000,
    spoil: header(
      'Origin',
      'https://evil.example',
      'null',
      'file://',
      'http://localhost.evil.example',
      'http://127.0.0.1@evil.example',
      '',
    ),
  },
  {
    name: 'no token',
    status: 401,
    code: -32_000,
    isAboutTokens: true,
    spoil: header('Authorization', undefined),
  },
  {
    name: 'a wrong token',
    status: 401,
    code: -32_000,
    isAboutTokens: true,
    spoil: header(
      'Authorization',
      'Bearer hf_wrong',
      'Bearer',
      'Basic aGY6eA==',
      'Bearer a b',
      `Bearer ${'x'.repeat(5000)}`,
      ...inheritedNames.map((name) => `Bearer ${name}`),
      '',
      'hf_',
    ),
  },
  {
    name: 'another type',
    status: 415,
    code: -32_000,
    spoil: header(
      'Content-Type',
      'text/plain',
      undefined,
      'application/json, text/html',
      'text/plain; a=application/json',
      'application/jsonx',
      '',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ),
  },
  {
    name: 'another revision in the header',
    status: 400,
    code: -32_020,
    spoil: header(
      'MCP-Protocol-Version',
      '2025-11-25',
      undefined,
      '2026-07-29',
      '',
      'x',
      '2026-07-28, 2026-07-28',
      ...inheritedNames,
    ),
  },
  {
    name: 'another method in the header',
    status: 400,
    code: -32_020,
    spoil: header(
      'Mcp-Method',
      'tools/list',
      undefined,
      'TOOLS/CALL',
      '',
      'tools/call, tools/call',
      'tools%2Fcall',
      ...inheritedNames,
    ),
  },
  {
    name: 'another name in the header',
    status: 400,
    code: -32_020,
    spoil: header(
      'Mcp-Name',
      'files__add',
      undefined,
      '',
      'files__echo, files__echo',
      '=?base64?ZmlsZXNfX2FkZA==?=',
      '=?base64?!?=',
      '=?base64??=',
      'FILES__ECHO',
      ...inheritedNames,
    ),
  },
  {
    name: 'another name in the body',
    status: 400,
    code: -32_020,
    spoil: text((body) => body.replace('"name":"files__echo"', '"name":"files__add"')),
  },
  {
    name: 'another method in the body',
    status: 400,
    code: -32_020,
    spoil: text((body) => body.replace('"tools/call"', '"tools/list"')),
  },
  {
    name: 'a name twice',
    status: 400,
    code: -32_600,
    spoil: text((body) => body.replace('"name":', '"name":"files__add","name":')),
  },
  {
    name: 'a name in disguise',
    status: 400,
    code: -32_600,
    spoil: text((body) => body.replace('"name":', '"n\\u0061me":')),
  },
  {
    name: 'a method twice',
    status: 400,
    code: -32_600,
    spoil: text((body) => body.replace('"method":', '"method":"tools/list","method":')),
  },
  {
    name: 'an id twice',
    status: 400,
    code: -32_600,
    spoil: text((body) => body.replace('"id":', '"\\u0069d":1,"id":')),
  },
  {
    name: 'an id that is none',
    status: 400,
    code: -32_600,
    spoil: text((body) => body.replace(/"id":"[^"]*"/, '"id":1.0')),
  },
  {
    name: 'another JSON-RPC',
    status: 400,
    code: -32_600,
    spoil: text((body) => body.replace('"2.0"', '"1.0"')),
  },
  { name: 'no JSON', status: 400, code: -32_700, spoil: text((body) => body.slice(0, -1)) },
  { name: 'a byte order mark', status: 400, code: -32_700, spoil: text((body) => `\ufeff${body}`) },
  {
    name: 'no UTF-8',
    status: 400,
    code: -32_700,
    spoil: (request) =>
      withBody(
        request,
        Buffer.from(request.body.toString('latin1').replace('\xc3\xa9', '\xc3'), 'latin1'),
      ),
  },
  { name: 'two messages', status: 400, code: -32_700, spoil: text((body) => body + body) },
  { name: 'nothing', status: 400, code: -32_700, spoil: (request) => withBody(request, '') },
  {
    name: 'too deep',
    status: 400,
    code: -32_700,
    spoil: text((body) =>
      body.replace('"text":', `"deep":${'['.repeat(600)}${']'.repeat(600)},"text":`),
    ),
  },
  { name: 'a batch', status: 400, code: -32_600, spoil: text((body) => `[${body}]`) },
  {
    name: 'no envelope',
    status: 400,
    code: -32_602,
    spoil: text((body) => body.replace('"_meta":', '"meta":')),
  },
  {
    name: 'another place',
    status: 404,
    spoil: (request, dice) => ({
      ...request,
      target: dice.pick([
        '/',
        '/mcp/',
        '//mcp',
        '/MCP',
        '/mcp%2f',
        '/%6dcp',
        '/mcp/../mcp',
        '/mcp;a',
        '/constructor',
        '/__proto__',
        '/messages/',
        '/sse/x',
        `/${'a'.repeat(8000)}`,
      ]),
    }),
  },
  {
    name: 'another verb',
    status: 405,
    code: -32_000,
    spoil: (request, dice) => ({
      ...request,
      method: dice.pick(['PUT', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'SEARCH', 'PURGE']),
    }),
  },
  {
    name: 'another verb there',
    status: 405,
    code: -32_000,
    spoil: (request, dice) => ({ ...request, target: dice.pick(['/healthz', '/readyz', '/sse']) }),
  },
  {
    name: 'no session',
    status: 404,
    code: -32_001,
    spoil: (request, dice) => ({
      ...request,
      target: dice.pick([
        '/messages',
        '/messages?sessionId=',
        '/messages?sessionId=%00',
        '/messages?sessionId=__proto__',
      ]),
    }),
  },
];
