// What a modern client can say wrongly over HTTP: each gets the specification's own answer, status
// and code, and nobody else notices.

import { describe, expect, it } from 'vitest';
import { modernRequest } from '../support/gateway-http-client.ts';
import { legacyHello } from '../support/gateway-stdio-client.ts';
import { underFire } from '../support/gateway-under-fire.ts';
import { envelope } from '../support/http-front.ts';

const version = 'io.modelcontextprotocol/protocolVersion';
const capabilities = 'io.modelcontextprotocol/clientCapabilities';

const list = modernRequest('tools/list', {}, 4);
const echo = modernRequest('tools/call', { name: 'files__echo', arguments: {} }, 4);
const [method, name] = ['mcp-method', 'mcp-name'];
const revision = 'mcp-protocol-version';

type Request = ReturnType<typeof modernRequest>;
const ask = (what: string, params = {}) => modernRequest(what, params, 4);
const raw = (body: string | Buffer) => ({ ...list, body });
const body = (changes: object) => ({ ...list, body: { ...list.body, ...changes } });
const meta = (changes: object) => body({ params: { _meta: { ...envelope, ...changes } } });
const bareMeta = (members: object) => body({ params: { _meta: members } });
const headed = (changes: Record<string, string>, { headers, ...rest }: Request = list) => ({
  ...rest,
  headers: { ...headers, ...changes },
});

function without(header: string, { headers, ...rest }: Request = list) {
  const kept = Object.entries(headers).filter(([key]) => key !== header);
  return { ...rest, headers: Object.fromEntries(kept) };
}

const gate = underFire();

describe('a modern request', () => {
  it.each([
    ['is no JSON', raw('{"jsonrpc":'), '400 -32700 null'],
    ['is nothing', raw(''), '400 -32700 null'],
    ['is not UTF-8', raw(Buffer.from([0x7b, 0xff, 0x7d])), '400 -32700 null'],
    ['is nested too deeply', raw('['.repeat(100_000)), '400 -32700 null'],
    ['is two messages', raw('{"jsonrpc":"2.0"}{}'), '400 -32700 null'],
    ['is not an object', raw('"tools/list"'), '400 -32600 null'],
    ['is a batch', raw(JSON.stringify([list.body])), '400 -32600 null'],
    ['has a key twice', raw('{"jsonrpc":"2.0","id":4,"method":"a","method":"b"}'), '400 -32600 4'],
    ['is of another JSON-RPC', body({ jsonrpc: '1.0' }), '400 -32600 4'],
    ['has no method', body({ method: 9 }), '400 -32600 4'],
    ['has the id null', body({ id: null }), '400 -32600 null'],
    ['has a broken id', body({ id: 1.5 }), '400 -32600 null'],
  ])('that %s is refused before it is read', async (_what, wrong, answer) => {
    expect(await gate.refused(wrong)).toBe(answer);
  });

  it.each([
    ['has no envelope', bareMeta({}), '400 -32602 4'],
    ['has no capabilities', bareMeta({ [version]: '2026-07-28' }), '400 -32602 4'],
    ['has broken capabilities', meta({ [capabilities]: [] }), '400 -32602 4'],
    ['has a broken revision', meta({ [version]: {} }), '400 -32602 4'],
    ['has a broken log level', meta({ 'io.modelcontextprotocol/logLevel': 7 }), '400 -32602 4'],
    ['has no params', body({ params: undefined }), '400 -32602 4'],
    ['has another revision in its header', headed({ [revision]: '2025-11-25' }), '400 -32020 4'],
    ['has another method in its header', headed({ [method]: 'prompts/list' }), '400 -32020 4'],
    ['has another name in its header', headed({ [name]: 'docs__echo' }, echo), '400 -32020 4'],
    ['has no revision in its header', without(revision), '400 -32020 4'],
    ['has no method in its header', without(method), '400 -32020 4'],
    ['has no name in its header', without(name, echo), '400 -32020 4'],
  ])('that %s is refused by its envelope', async (_what, wrong, answer) => {
    expect(await gate.refused(wrong)).toBe(answer);
  });

  it.each([
    ['is unknown', ask('no/such/method'), '404 -32601 4'],
    ['is ping', ask('ping'), '404 -32601 4'],
    ['is logging/setLevel', ask('logging/setLevel', { level: 'info' }), '404 -32601 4'],
    ['is resources/subscribe', ask('resources/subscribe', { uri: 'a:b' }), '404 -32601 4'],
    ['is initialize', ask('initialize', legacyHello().params), '404 -32601 4'],
    ['calls nothing', ask('tools/call'), '200 -32602 4'],
    ['calls what nobody has', ask('tools/call', { name: 'files__none' }), '200 -32602 4'],
    ['reads what nobody has', ask('resources/read', { uri: 'none:such' }), '200 -32602 4'],
    ['gets a prompt nobody has', ask('prompts/get', { name: 'none' }), '200 -32602 4'],
    ['completes nothing', ask('completion/complete', { ref: 7 }), '200 -32602 4'],
    ['listens to nothing', ask('subscriptions/listen'), '200 -32602 4'],
    ['has a broken cursor', ask('tools/list', { cursor: 5 }), '200 -32602 4'],
    [
      'needs tasks it cannot',
      headed({ [name]: 'x' }, ask('tasks/get', { taskId: 'x' })),
      '400 -32021 4',
    ],
  ])('that %s is refused by what it means', async (_what, wrong, answer) => {
    expect(await gate.refused(wrong)).toBe(answer);
  });

  it('of an unsupported version gets the supported one #bad-input', async () => {
    const wrong = meta({ [version]: '2031-01-01' });
    const headers = { ...list.headers, [revision]: '2031-01-01' };
    const { status, json } = await gate.client.ask({ headers, body: wrong.body });
    expect(status).toBe(400);
    expect(json.error).toMatchObject({
      code: -32_022,
      data: { supported: ['2026-07-28'], requested: '2031-01-01' },
    });
  });

  it('may have the id of another running one: each is independent', async () => {
    const params = { name: 'files__slow', arguments: { ms: 60_000, progressEvery: 5 } };
    const wish = { ...params, _meta: { progressToken: 4 } };
    const long = await gate.client.open(modernRequest('tools/call', wish, 4));
    await long.message();
    expect((await gate.client.modern('tools/list', {}, 4)).json.id).toBe(4);
    expect((await long.message()).params.progressToken).toBe(4);
    long.drop();
  });

  it('that is a notification is never answered, however wrong it is', async () => {
    for (const what of ['no/such/method', 'tools/call', 'notifications/cancelled']) {
      const { headers } = ask(what);
      const note = { jsonrpc: '2.0', method: what, params: { _meta: envelope } };
      const { status, text } = await gate.client.ask({ headers, body: note });
      expect({ status, text }, what).toEqual({ status: 202, text: '' });
    }
  });
});
