import { describe, expect, it } from 'vitest';
import { scanMessage } from '../../../wire/scan.ts';
import { eraOf } from './era-of.ts';
import type { Headers } from './header-agreement.ts';

const key = 'io.modelcontextprotocol/';
const sound = { [`${key}protocolVersion`]: '2026-07-28', [`${key}clientCapabilities`]: {} };

function judge(body: object, headers: Headers = {}) {
  return eraOf(scanMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...body }))), headers);
}

const request = (method: string, params: object = {}, meta: object | null = sound) => ({
  id: 1,
  method,
  params: meta === null ? params : { ...params, _meta: meta },
});

const said = (method: string, name?: string): Headers => ({
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': method,
  ...(name === undefined ? {} : { 'mcp-name': name }),
});

const refused = (code: number) => ({ kind: 'refused', refusal: { code } });
const base64 = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;

describe('the era of a message', () => {
  it('is modern with an envelope, and headers that agree', () => {
    expect(judge(request('tools/list'), said('tools/list'))).toEqual({ kind: 'modern' });
    expect(judge(request('server/discover'), said('server/discover'))).toEqual({ kind: 'modern' });
  });

  it.each([
    ['a request', request('tools/list', {}, null)],
    ['a handshake', request('initialize', { protocolVersion: '2025-11-25' }, null)],
    [
      'a handshake with half an envelope',
      request('initialize', {}, { [`${key}protocolVersion`]: 'x' }),
    ],
    ['a notification', { method: 'notifications/initialized' }],
    ['a result', { id: 1, result: { _meta: sound } }],
    ['an error', { id: 1, error: { code: 1, message: '' } }],
  ])('is legacy for %s without one', (_, body) => {
    expect(judge(body)).toEqual({ kind: 'legacy' });
    expect(judge(body, { 'mcp-protocol-version': '2025-06-18' })).toEqual({ kind: 'legacy' });
  });

  it('is modern even for an initialize with a valid envelope', () => {
    expect(judge(request('initialize'), said('initialize'))).toEqual({ kind: 'modern' });
  });

  it('is refused where a modern header goes with no envelope', () => {
    expect(judge(request('tools/list', {}, null), said('tools/list'))).toMatchObject(
      refused(-32602),
    );
    expect(judge(request('initialize', {}, null), said('initialize'))).toMatchObject(
      refused(-32020),
    );
  });

  it('is refused where the envelope is broken', () => {
    const body = request('tools/list', {}, { [`${key}protocolVersion`]: '2026-07-28' });
    expect(judge(body, said('tools/list'))).toMatchObject(refused(-32602));
  });

  it('goes by the header for a notification without an envelope', () => {
    const body = { method: 'notifications/x' };
    expect(judge(body, said('notifications/x'))).toEqual({ kind: 'modern' });
    expect(judge(body, { 'mcp-protocol-version': '2026-07-28' })).toEqual({ kind: 'modern' });
    expect(judge(body, said('notifications/y'))).toMatchObject(refused(-32020));
  });
});

describe('the headers of a modern request', () => {
  const version = (claimed: string) =>
    request('tools/list', {}, { ...sound, [`${key}protocolVersion`]: claimed });

  it('must name the revision of the body before that revision is looked at', () => {
    const headers = said('tools/list');
    expect(judge(version('v999'), headers)).toMatchObject(refused(-32020));
    expect(judge(version('v999'), { ...headers, 'mcp-protocol-version': 'v999' })).toMatchObject(
      refused(-32022),
    );
  });

  it.each([
    ['without a revision', { 'mcp-method': 'tools/list' }],
    ['without a method', { 'mcp-protocol-version': '2026-07-28' }],
    ['with another method', said('prompts/list')],
    ['with the method in another case', said('TOOLS/LIST')],
    ['with the method twice', said('tools/list, tools/list')],
    ['with none at all', {}],
  ])('are refused %s', (_, headers) => {
    expect(judge(request('tools/list'), headers)).toMatchObject(refused(-32020));
  });

  it.each([
    ['tools/call', 'name'],
    ['prompts/get', 'name'],
    ['resources/read', 'uri'],
    ['tasks/get', 'taskId'],
    ['tasks/update', 'taskId'],
    ['tasks/cancel', 'taskId'],
  ])('must name what %s is about, by its %s', (method, member) => {
    const body = request(method, { [member]: 'the one' });
    expect(judge(body, said(method, 'the one'))).toEqual({ kind: 'modern' });
    expect(judge(body, said(method, base64('the one')))).toEqual({ kind: 'modern' });
    expect(judge(body, said(method, 'another'))).toMatchObject(refused(-32020));
    expect(judge(body, said(method))).toMatchObject(refused(-32020));
  });

  it.each(['é', '日本', ' lead', 'tab\t', '=?base64?eA==?=', 'a"b\\c'])(
    'carry the name %j',
    (name) => {
      const body = request('tools/call', { name });
      expect(judge(body, said('tools/call', base64(name)))).toEqual({ kind: 'modern' });
      expect(judge(body, said('tools/call', base64('x')))).toMatchObject(refused(-32020));
    },
  );

  it.each(['=?base64?eA?=', '=?base64?e!==?=', '=?base64?/w==?=', '=?base64?eA==\n?='])(
    'are refused with a name that is not base64 of text: %j',
    (header) => {
      const body = request('tools/call', { name: 'x' });
      expect(judge(body, said('tools/call', header))).toMatchObject(refused(-32020));
    },
  );

  it('leave a body without a name to those who know the method', () => {
    expect(judge(request('tools/call'), said('tools/call'))).toEqual({ kind: 'modern' });
    expect(judge(request('tools/call', { name: 5 }), said('tools/call', '5'))).toEqual({
      kind: 'modern',
    });
    expect(judge(request('tools/list', { name: 'x' }), said('tools/list', 'y'))).toEqual({
      kind: 'modern',
    });
  });

  it('find a name that is written with escapes', () => {
    const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\u0061b","_meta":${JSON.stringify(sound)}}}`;
    const message = scanMessage(Buffer.from(text));
    expect(eraOf(message, said('tools/call', 'ab'))).toEqual({ kind: 'modern' });
    expect(eraOf(message, said('tools/call', '\\u0061b'))).toMatchObject(refused(-32020));
  });

  it('of methods with the names of inherited properties are like any other', () => {
    expect(judge(request('constructor'), said('constructor'))).toEqual({ kind: 'modern' });
  });
});
