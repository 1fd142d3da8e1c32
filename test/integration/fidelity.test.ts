// Nothing is changed on the way. What reached the server is read back from the server's own memory
// of the raw bytes; what it answered is compared with the bytes we were given.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Host } from '../../src/host/host.ts';
import { awkwardArguments, awkwardResults } from '../support/byte-exact-cases.ts';
import { type FaultyHttp, faultyHttp, faultyStdio } from '../support/faulty.ts';
import { faultOf, hostWith } from '../support/host.ts';

const transports = [
  'stdio legacy',
  'stdio modern',
  'http legacy',
  'http modern',
  'http sse',
  'old sse',
] as const;

let host: Host;
const remotes: FaultyHttp[] = [];

beforeAll(async () => {
  const legacy = await faultyHttp({ era: 'legacy' });
  const modern = await faultyHttp({ era: 'modern' });
  const streaming = await faultyHttp({ era: 'modern', respond: 'sse' });
  remotes.push(legacy, modern, streaming);
  host = await hostWith({
    'stdio-legacy': faultyStdio({ era: 'legacy' }),
    'stdio-modern': faultyStdio({ era: 'modern' }),
    'http-legacy': { url: legacy.url },
    'http-modern': { url: modern.url },
    'http-sse': { url: streaming.url },
    'old-sse': { type: 'sse', url: legacy.sseUrl },
  });
});

afterAll(async () => {
  await host.close();
  for (const remote of remotes) await remote[Symbol.asyncDispose]();
});

/** The raw bytes of the last call but this one, as the server received them. */
async function lastReceived(server: string): Promise<string> {
  const { structuredContent } = await host.call(server, 'received', {
    last: 1,
    method: 'tools/call',
  });
  const { messages } = structuredContent as { messages: { base64: string }[] };
  return Buffer.from(messages[0]?.base64 ?? '', 'base64').toString('utf8');
}

describe.each(transports)('over %s', (transport) => {
  const server = transport.replace(' ', '-');

  it.each(Object.entries(awkwardArguments))(
    'arguments with %s arrive byte for byte #byte-exact',
    async (_, args) => {
      const result = await host.callRaw(server, 'echo', args);
      expect(await lastReceived(server)).toContain(`"arguments":${args}`);
      expect(result.toString('utf8')).toContain(`"structuredContent":${args}`);
    },
  );

  it.each(Object.entries(awkwardResults))(
    'a result with %s comes back byte for byte #byte-exact',
    async (_, result) => {
      const encoded = Buffer.from(result).toString('base64');
      const bytes = await host.callRaw(server, 'raw', JSON.stringify({ result: encoded }));
      expect(bytes.toString('utf8')).toBe(result);
    },
  );

  it('a whole JSON-RPC message on its own line inside the arguments stays inside them #one-message', async () => {
    const inner =
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"key":"smuggled","amount":1}}}';
    await host.callRaw(server, 'echo', `{"text":"outer",\n"x":\r\n${inner}\n}`);
    const received = await lastReceived(server);
    expect(received).not.toMatch(/[\r\n]/);
    expect(received).toContain(inner);
    const { structuredContent } = await host.call(server, 'get', { key: 'smuggled' });
    expect(structuredContent).toMatchObject({ value: null });
  });
});

describe('answers that could be read in two ways', () => {
  it.each([
    ['a duplicate result', '{"content":[]},"result":{"content":[1]}'],
    ['an escaped envelope key', '{"content":[]},"\\u0069d":99'],
    ['a duplicate member we read', '{"isError":false,"isError":true,"content":[]}'],
  ])('with %s are refused #one-message', async (_, result) => {
    const encoded = Buffer.from(result).toString('base64');
    const call = host.callRaw('stdio-legacy', 'raw', JSON.stringify({ result: encoded }), {
      timeoutMs: 2_000,
    });
    expect((await faultOf(call)).record).toMatchObject({
      code: 'protocol_violation',
      dispatched: 'yes',
    });
  });
});

describe('arguments that are not one JSON object', () => {
  it.each(['', '{', '[1]', '"x"', '{"a":01}', '{"a":"\t"}', '{"a":1}}', '\ufeff{}', '{"a":NaN}'])(
    '%j is refused before anything is started #one-message',
    async (args) => {
      const fault = await faultOf(host.callRaw('stdio-legacy', 'echo', args));
      expect(fault.record).toMatchObject({ code: 'invalid_request', dispatched: 'no' });
    },
  );
});
