// The life of one client at the pipes of `holdfast serve --stdio`, in both eras: how it begins, that
// nothing it does waits for anything else, and how it ends.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { legacyHello, type StdioClient } from '../support/gateway-stdio-client.ts';
import { envelope } from '../support/http-front.ts';

const call = (id: unknown, name: string, args: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
});

/** The same in the modern era. */
function modern(id: unknown, method: string, params: object = {}) {
  return { jsonrpc: '2.0', id, method, params: { ...params, _meta: envelope } };
}

let home: GatewayHome;

beforeAll(async () => {
  // Two, so that what nobody knows cannot be meant for the only one there is.
  const [files, docs] = [faultyStdio(), faultyStdio({ era: 'legacy' })];
  home = await GatewayHome.create({ mcpServers: { files, docs } });
});

afterAll(() => home[Symbol.asyncDispose]());

/** A legacy client that has said hello. */
async function greeted(protocolVersion?: string): Promise<StdioClient> {
  const client = home.stdio();
  await client.initialize(protocolVersion);
  return client;
}

describe('the handshake', () => {
  it('must come first, but a ping is answered at any time #stdio-session', async () => {
    await using client = home.stdio();
    expect((await client.ask('ping', {}, 1)).result).toEqual({});
    for (const method of ['tools/list', 'tools/call', 'no/such/method']) {
      const { error } = await client.ask(method, {}, 2);
      expect(error.code, method).toBe(-32_002);
      expect(error.message).toContain('initialize');
    }
    client.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    expect((await client.ask('tools/list', {}, 3)).error.code).toBe(-32_002);
    await client.initialize();
    expect((await client.ask('ping', {}, 4)).result).toEqual({});
  });

  it('agrees on the client’s revision if it is known, and else offers the latest', async () => {
    const known = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
    const wishes = [...known, '2030-01-01', '1.0', ''];
    await using client = home.stdio();
    for (const [id, wish] of wishes.entries()) {
      client.send(legacyHello(id, wish));
      const { result } = await client.answer(id);
      expect(result.protocolVersion).toBe(known.includes(wish) ? wish : '2025-11-25');
      expect(result.capabilities.tools).toEqual({ listChanged: true });
    }
    const { error } = await client.ask('initialize', {}, 'nothing');
    expect(error.code).toBe(-32_602);
  });

  it('of the modern era is none: the first message decides, and initialize comes too late', async () => {
    await using client = home.stdio();
    client.send(modern(1, 'server/discover'));
    const { result } = await client.answer(1);
    expect(result.supportedVersions).toEqual(['2026-07-28']);
    client.send(legacyHello(2));
    expect((await client.answer(2)).error).toMatchObject({
      code: -32_022,
      data: { supported: ['2026-07-28'], requested: '2025-11-25' },
    });
    client.send(modern(3, 'tools/call', { name: 'files__echo', arguments: { text: 'x' } }));
    expect((await client.answer(3)).result.resultType).toBe('complete');
  });
});

describe('a modern client', () => {
  it('is refused by the rules of its own era', async () => {
    await using client = home.stdio();
    const version = 'io.modelcontextprotocol/protocolVersion';
    const capabilities = 'io.modelcontextprotocol/clientCapabilities';
    const cases: readonly [object, number][] = [
      [
        { method: 'tools/list', params: { _meta: { ...envelope, [version]: '2031-01-01' } } },
        -32_022,
      ],
      [{ method: 'tools/list', params: { _meta: { [version]: '2026-07-28' } } }, -32_602],
      [{ method: 'tools/list', params: { _meta: { ...envelope, [capabilities]: 7 } } }, -32_602],
      [{ method: 'tools/list', params: { _meta: { ...envelope, [version]: 7 } } }, -32_602],
      [{ method: 'tools/list', params: {} }, -32_602],
      [{ method: 'tools/list' }, -32_602],
      [{ method: 'ping', params: { _meta: envelope } }, -32_601],
      [{ method: 'logging/setLevel', params: { level: 'info', _meta: envelope } }, -32_601],
      [{ method: 'resources/subscribe', params: { uri: 'a:b', _meta: envelope } }, -32_601],
      [{ method: 'tools/call', params: { name: 'nobody', _meta: envelope } }, -32_602],
    ];
    client.send(modern(0, 'server/discover'));
    await client.answer(0);
    for (const [request, code] of cases) {
      const at = client.lines.length;
      client.send({ jsonrpc: '2.0', id: 8, ...request });
      const { id, error } = JSON.parse(await client.line(at));
      expect({ id, code: error?.code }, JSON.stringify(request)).toEqual({ id: 8, code });
    }
  });

  it('gets the supported versions when its first message has another one', async () => {
    await using client = home.stdio();
    const version = 'io.modelcontextprotocol/protocolVersion';
    const request = modern('first', 'server/discover');
    const params = { _meta: { ...envelope, [version]: '2031-01-01' } };
    client.send({ ...request, params });
    expect((await client.answer('first')).error).toMatchObject({
      code: -32_022,
      data: { supported: ['2026-07-28'], requested: '2031-01-01' },
    });
    client.send(modern(2, 'tools/list'));
    expect((await client.answer(2)).result.tools.length).toBeGreaterThan(0);
  });
});

describe('while a long call runs', () => {
  it.each(['legacy', 'modern'] as const)(
    'a %s client is answered what it asks meanwhile, and may cancel it',
    async (era) => {
      await using client = home.stdio();
      const wrap = (message: ReturnType<typeof call>) =>
        era === 'legacy' ? message : modern(message.id, message.method, message.params);
      if (era === 'legacy') await client.initialize();
      client.send(wrap(call('long', 'files__slow', { ms: 60_000, nonce: `long-${era}` })));
      client.send(wrap(call('quick', 'files__echo', { text: 'meanwhile' })));
      expect((await client.answer('quick')).result.structuredContent.text).toBe('meanwhile');
      if (era === 'legacy') expect((await client.ask('ping', {}, 'ping')).result).toEqual({});
      client.send(wrap(call('long', 'files__echo', { text: 'the same id' })));
      const refused = await client.answer('long');
      expect(refused.error).toMatchObject({ code: -32_600 });
      const params = { requestId: 'long', reason: 'enough' };
      client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
      client.send(wrap(call('long', 'files__echo', { text: 'free again' })));
      const again = await client.message(({ id, result }) => id === 'long' && result !== undefined);
      expect(again.result.structuredContent.text).toBe('free again');
      // The cancelled call is never answered: what has the id is the refusal and the new call.
      const answers = client.lines.filter((line) => JSON.parse(line).id === 'long');
      expect(answers).toHaveLength(2);
    },
  );
});

describe('the end of the input', () => {
  it('at once is a clean exit #stdio-session', async () => {
    const { code, stderr } = await home.stdio().end();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('in the middle of a line is a clean exit, and the rest is not a message', async () => {
    const client = await greeted();
    client.write('{"jsonrpc":"2.0","id":3,"method":"ping"');
    const { code, stderr } = await client.end();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(client.lines).toHaveLength(1);
  });

  it('comes after the answers to what was asked before it #one-answer', async () => {
    const client = await greeted();
    await client.ask('tools/call', { name: 'files__echo', arguments: {} }, 'warm');
    client.send({ jsonrpc: '2.0', id: 4, method: 'ping' });
    const { code } = await client.end();
    expect(code).toBe(0);
    expect(client.lines.map((line) => JSON.parse(line).id)).toEqual(['hello', 'warm', 4]);
  });

  it.each(['legacy', 'modern'] as const)(
    'behind all that a %s client asks, at the very first use, comes after every answer #one-answer #stdio-session',
    async (era) => {
      // As `printf '...' | holdfast serve --stdio`: all of it is there before anything has started.
      await using fresh = await GatewayHome.create({ mcpServers: { files: faultyStdio({ era }) } });
      const client = fresh.stdio();
      const wrap = (id: number, method: string, params: object = {}) =>
        era === 'legacy' ? { jsonrpc: '2.0', id, method, params } : modern(id, method, params);
      const hello = era === 'legacy' ? legacyHello(1) : modern(1, 'server/discover');
      const echo = { name: 'files__echo', arguments: { text: 'first' } };
      const asked = [hello, wrap(2, 'tools/list'), wrap(3, 'tools/call', echo)];
      client.write(asked.map((message) => `${JSON.stringify(message)}\n`).join(''));
      const { code } = await client.end();
      const answers = client.lines.map((line) => JSON.parse(line)).filter(({ id }) => id);
      expect(answers.map(({ id, error }) => [id, error])).toEqual(
        [1, 2, 3].map((id) => [id, undefined]),
      );
      const names = answers[1].result.tools.map(({ name }: { name: string }) => name);
      expect(names).toContain('files__echo');
      expect(answers[2].result.structuredContent.text).toBe('first');
      expect(code).toBe(0);
    },
  );
});
