// What a legacy client can say wrongly over HTTP, and what no request may be whatever its era: each
// gets the specification's own answer, status and code, and nobody else notices.

import { beforeAll, describe, expect, it } from 'vitest';
import { type LegacyClient, modernRequest } from '../support/gateway-http-client.ts';
import { legacyHello } from '../support/gateway-stdio-client.ts';
import { underFire } from '../support/gateway-under-fire.ts';
import { legacyHeaders, modernHeaders } from '../support/http-front.ts';

const gate = underFire();

describe('a legacy request', () => {
  let session: LegacyClient;
  let old: LegacyClient;

  beforeAll(async () => {
    session = await gate.client.session('2025-11-25');
    old = await gate.client.session('2025-03-26');
  });

  const ping = { jsonrpc: '2.0', id: 4, method: 'ping' };
  const said = (body: unknown, headers = {}) => ({
    headers: { ...session.headers, ...headers },
    body,
  });
  const asked = (method: string, params = {}) => said({ ...ping, method, params });
  const batch = (body: unknown) => ({ headers: old.headers, body });
  const got = (headers: object) => ({ method: 'GET', headers: { ...session.headers, ...headers } });
  const nobody = 'AAAAAAAAAAAAAAAAAAAAAAAA';

  it.each([
    ['is no JSON', () => said('{"jsonrpc"'), '400 -32700 null'],
    ['has the id null', () => said({ ...ping, id: null }), '400 -32600 null'],
    ['is neither request nor answer', () => said({ jsonrpc: '2.0', id: 4 }), '400 -32600 4'],
    ['is a batch, which its revision has not', () => said([ping]), '400 -32600 null'],
    ['is an empty batch', () => batch([]), '400 -32600 null'],
    ['is a batch with a handshake', () => batch([legacyHello()]), '400 -32600 null'],
    ['is a batch of broken JSON', () => batch('[{"jsonrpc"'), '400 -32700 null'],
    [
      'is of no revision',
      () => said(ping, { 'mcp-protocol-version': '2020-01-01' }),
      '400 -32600 4',
    ],
    [
      'is modern by its header',
      () => said(ping, { 'mcp-protocol-version': '2026-07-28' }),
      '400 -32602 4',
    ],
    ['begins a session twice', () => said(legacyHello(4)), '400 -32600 4'],
    ['names no session', () => ({ headers: legacyHeaders(), body: ping }), '400 -32600 4'],
    [
      'names an unknown session',
      () => ({ headers: legacyHeaders(nobody), body: ping }),
      '404 -32001 4',
    ],
    [
      'begins without a revision',
      () => ({ headers: legacyHeaders(), body: { ...ping, method: 'initialize' } }),
      '200 -32602 4',
    ],
    ['comes back to an unknown event', () => got({ 'last-event-id': 'p9-9' }), '400 -32600 null'],
    ['listens and reads no events', () => got({ accept: 'application/json' }), '406 -32000 null'],
    [
      'ends an unknown session',
      () => ({ method: 'DELETE', headers: legacyHeaders(nobody) }),
      '404 -32001 null',
    ],
    [
      'is for an unknown stream of 2024',
      () => ({ ...said(ping), path: '/messages?sessionId=x' }),
      '404 -32001 null',
    ],
    ['is unknown', () => asked('no/such/method'), '200 -32601 4'],
    ['calls what nobody has', () => asked('tools/call', { name: 'none' }), '200 -32602 4'],
    ['has a cursor of its own making', () => asked('tools/list', { cursor: 'x' }), '200 -32602 4'],
    [
      'sets a level that is none',
      () => asked('logging/setLevel', { level: 'loud' }),
      '200 -32602 4',
    ],
    [
      'watches what nobody has',
      () => asked('resources/subscribe', { uri: 'none:such' }),
      '200 -32602 4',
    ],
  ])('that %s is refused', async (_what, wrong, answer) => {
    expect(await gate.refused(wrong())).toBe(answer);
  });

  it('that has the id of another under way in its session is refused, and that one goes on #bad-input', async () => {
    const long = session.begin('tools/call', { name: 'docs__slow', arguments: { ms: 150 } }, 'id');
    const echo = () => session.ask('tools/call', { name: 'docs__echo' }, 'id');
    // Which of two connections is read first is nobody's to say: one of the two calls is refused.
    const texts = [(await Promise.all([long.answered, echo()])).map(({ text }) => text)].flat();
    expect(texts.filter((text) => text.includes('"code":-32600'))).toHaveLength(1);
    expect(texts.filter((text) => text.includes('structuredContent'))).toHaveLength(1);
    expect((await echo()).text).toContain('structuredContent');
  });

  it('with an id that another session uses at the same time is another request', async () => {
    const other = await gate.client.session();
    const calls = [session, other].map((each) => each.call('docs__slow', { ms: 100 }, 'same'));
    for (const { id, result } of await Promise.all(calls)) {
      expect({ id, ...result.structuredContent }).toEqual({ id: 'same', ms: 100 });
    }
    await other.delete();
  });

  it('of a batch is answered beside the others, the wrong ones too', async () => {
    const body = [ping, { ...ping, id: 5, method: 'no/such' }, { jsonrpc: '2.0', method: 'x' }];
    const { status, json } = await gate.client.ask(batch(body));
    expect(status).toBe(200);
    expect(json).toEqual([
      { jsonrpc: '2.0', id: 4, result: {} },
      { jsonrpc: '2.0', id: 5, error: { code: -32_601, message: expect.any(String) } },
    ]);
  });
});

describe('a request, whatever its era,', () => {
  const list = modernRequest('tools/list', {}, 4);
  const headed = (changes: object) => ({ ...list, headers: { ...list.headers, ...changes } });
  const type = (value: string) => headed({ 'content-type': value });
  const modern = (method: string) => ({ method, headers: modernHeaders('tools/list') });

  it.each([
    ['is text', type('text/plain'), '415 -32000 null'],
    ['is a form', type('application/x-www-form-urlencoded'), '415 -32000 null'],
    ['is only almost JSON', type('text/plain; a=application/json'), '415 -32000 null'],
    ['comes from another origin', headed({ origin: 'http://evil.example' }), '403 -32000 null'],
    ['comes from nowhere', headed({ origin: 'null' }), '403 -32000 null'],
    ['is for another host', headed({ host: 'evil.example' }), '403 -32000 null'],
    ['is a PUT', { ...list, method: 'PUT' }, '405 -32000 null'],
    ['is a modern GET', modern('GET'), '405 -32000 null'],
    ['is a modern DELETE', modern('DELETE'), '405 -32000 null'],
    ['is too large', { ...list, body: Buffer.alloc(16_777_217, 0x20) }, '413 -32000 null'],
    [
      'is too large, unsaid',
      { ...headed({ 'transfer-encoding': 'chunked' }), body: Buffer.alloc(16_777_217, 0x20) },
      '413 -32000 null',
    ],
  ])('that %s is refused', async (_what, wrong, answer) => {
    expect(await gate.refused(wrong)).toBe(answer);
  });

  it('that goes to an unknown address is told the right one', async () => {
    const { status, json } = await gate.client.ask({ ...list, path: '/elsewhere' });
    expect(status).toBe(404);
    expect(json.error).toContain('/mcp');
  });
});
