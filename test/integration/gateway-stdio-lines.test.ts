// What is one message, and what is none, at the pipes of `holdfast serve --stdio`: lines, batches,
// notifications, and everything that a client can get wrong there.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { legacyHello, type StdioClient } from '../support/gateway-stdio-client.ts';

const call = (id: unknown, name: string, args: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
});

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

describe('a line', () => {
  it('that is blank is skipped, one that holds half a message waits for its rest #stdio-session', async () => {
    await using client = home.stdio();
    const [head = '', tail = ''] = JSON.stringify(legacyHello(1)).split('"method"');
    client.write(`\n\n   \n\r\n${head}`);
    client.write(`"method"${tail}\r\n\n{"jsonrpc":"2.0","id":2,"method":"ping"}\n\n`);
    expect((await client.answer(1)).result.serverInfo.name).toBe('holdfast');
    expect((await client.answer(2)).result).toEqual({});
    expect(client.lines).toHaveLength(2);
  });

  it('is what each answer is, whatever breaks a message holds', async () => {
    await using client = await greeted();
    client.send(call(5, 'files__echo', { text: 'a\nb\r\nc\u2028d' }));
    const answer = await client.answer(5);
    expect(answer.result.structuredContent).toEqual({ text: 'a\nb\r\nc\u2028d' });
    for (const line of client.lines) expect(() => JSON.parse(line)).not.toThrow();
  });

  it('that is not a message is refused with the right code, without effect on others', async () => {
    await using client = await greeted();
    const cases: readonly [string, number, unknown][] = [
      ['{"jsonrpc":"2.0","id":1,"method":', -32_700, null],
      ['no json at all', -32_700, null],
      ['{"jsonrpc":"2.0","id":1,"method":"ping"} {}', -32_700, null],
      ['\ufeff{"jsonrpc":"2.0","id":1,"method":"ping"}', -32_700, null],
      ['[]', -32_600, null],
      ['"ping"', -32_600, null],
      ['17', -32_600, null],
      ['{"id":7,"method":"ping"}', -32_600, 7],
      ['{"jsonrpc":"1.0","id":7,"method":"ping"}', -32_600, 7],
      ['{"jsonrpc":"2.0","id":7,"method":7}', -32_600, 7],
      ['{"jsonrpc":"2.0","id":null,"method":"ping"}', -32_600, null],
      ['{"jsonrpc":"2.0","id":null,"method":"tools/list"}', -32_600, null],
      ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32_600, null],
      ['{"jsonrpc":"2.0","id":{},"method":"ping"}', -32_600, null],
      ['{"jsonrpc":"2.0","id":7}', -32_600, 7],
      ['{"jsonrpc":"2.0","id":7,"method":"ping","method":"tools/call"}', -32_600, 7],
      ['{"jsonrpc":"2.0","id":7,"method":"no/such/method","params":{}}', -32_601, 7],
      ['{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}', -32_602, 7],
      ['{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":5}}', -32_602, 7],
      ['{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"nobody"}}', -32_602, 7],
      ['{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":"x"}}', -32_602, 7],
      ['{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":{"level":"x"}}', -32_602, 7],
      ['{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"x:y"}}', -32_602, 7],
      ['{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"x"}}', -32_602, 7],
    ];
    for (const [text, code, id] of cases) {
      const at = client.lines.length;
      client.write(`${text}\n`);
      const answer = JSON.parse(await client.line(at));
      expect({ code: answer.error?.code, id: answer.id }, text).toEqual({ code, id });
      expect(answer.error.message, text).not.toMatch(/\n|\bat .*\.(js|ts):\d/);
    }
    client.write(Buffer.from([0x7b, 0xff, 0xfe, 0x7d, 0x0a]));
    const at = client.lines.length;
    expect(JSON.parse(await client.line(at)).error.code).toBe(-32_700);
    expect((await client.ask('ping', {}, 'still')).result).toEqual({});
  });

  it('beyond the limit is refused without being kept, and the next one is heard', async () => {
    await using client = await greeted();
    const at = client.lines.length;
    client.write('{"jsonrpc":"2.0","id":9,"method":"ping","params":{"x":"');
    const megabyte = 'x'.repeat(1 << 20);
    for (let sent = 0; sent < 17; sent += 1) client.write(megabyte);
    client.write('"}}\n');
    const refused = JSON.parse(await client.line(at));
    expect(refused).toMatchObject({ id: null, error: { code: -32_600 } });
    expect((await client.ask('ping', {}, 10)).result).toEqual({});
    expect(client.lines.slice(at)).toHaveLength(2);
  });
});

describe('a batch', () => {
  const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' });
  const batch = [ping(1), { jsonrpc: '2.0', method: 'x' }, { ...ping(2), method: 'no/such' }];

  it('is answered with one line in the one revision that has batches', async () => {
    await using client = await greeted('2025-03-26');
    const at = client.lines.length;
    client.send(batch);
    const answers = JSON.parse(await client.line(at));
    expect(answers).toEqual([
      { jsonrpc: '2.0', id: 1, result: {} },
      { jsonrpc: '2.0', id: 2, error: { code: -32_601, message: expect.any(String) } },
    ]);
    client.send([]);
    expect(JSON.parse(await client.line(at + 1)).error.code).toBe(-32_600);
  });

  it.each(['2025-11-25', '2025-06-18', '2024-11-05'])('is refused in %s', async (version) => {
    await using client = await greeted(version);
    const at = client.lines.length;
    client.send(batch);
    expect(JSON.parse(await client.line(at))).toMatchObject({ id: null, error: { code: -32_600 } });
    expect((await client.ask('ping', {}, 9)).result).toEqual({});
  });
});

describe('a notification', () => {
  it('is never answered, however wrong it is #stdio-session', async () => {
    await using client = home.stdio();
    const wrong = [
      { method: 'notifications/initialized' },
      { method: 'tools/call', params: { name: 'nobody' } },
      { method: 'no/such/method' },
      { method: 'notifications/cancelled', params: { requestId: 99 } },
      { method: 'notifications/cancelled' },
      { method: 'notifications/progress', params: { progressToken: 'unknown' } },
      { method: 'notifications/nobody/knows' },
    ];
    for (const notification of wrong) client.send({ jsonrpc: '2.0', ...notification });
    await client.initialize();
    for (const notification of wrong) client.send({ jsonrpc: '2.0', ...notification });
    // A client's answers to questions that were never asked are as silent.
    client.send({ jsonrpc: '2.0', id: 41, result: {} });
    client.send({ jsonrpc: '2.0', id: 'x', error: { code: -1, message: 'no' } });
    await client.ask('ping', {}, 'last');
    expect(client.lines.map((line) => JSON.parse(line).id)).toEqual(['hello', 'last']);
  });
});
