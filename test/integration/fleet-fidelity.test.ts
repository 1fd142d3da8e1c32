// Nothing is changed between a worker's client and a server of the orchestrator, on either broker: the arguments that
// the client has written are read back from the server's own memory of the raw bytes, and the result that the server
// has sent is compared with the line that the client reads. Clients of both eras, servers of both eras.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { awkwardArguments, awkwardResults } from '../support/byte-exact-cases.ts';
import { faultyStdio } from '../support/faulty.ts';
import { Fleet } from '../support/fleet.ts';
import type { StdioClient } from '../support/gateway-stdio-client.ts';

const envelope =
  '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}';
const eras = ['legacy', 'modern'] as const;

describe.each(['embedded', 'nats'] as const)('through the %s broker', (broker) => {
  let fleet: Fleet;
  const clients = new Map<string, StdioClient>();
  let ids = 0;

  beforeAll(async () => {
    fleet = await Fleet.start(broker, {
      mcpServers: {
        legacy: faultyStdio({ era: 'legacy' }),
        modern: faultyStdio({ era: 'modern' }),
      },
      roles: { reader: { allow: ['legacy/*', 'modern/*'] } },
    });
    for (const era of eras) clients.set(era, fleet.rawWorker());
    await clients.get('legacy')?.initialize();
  }, 60_000);

  afterAll(() => fleet[Symbol.asyncDispose]());

  /** The line of the answer to a call, whose arguments are these bytes. */
  async function called(era: string, tool: string, args: string): Promise<string> {
    const client = clients.get(era);
    if (client === undefined) throw new Error('no such client');
    ids += 1;
    const more = era === 'modern' ? `,${envelope}` : '';
    const params = `{"name":${JSON.stringify(tool)},"arguments":${args}${more}}`;
    const from = client.lines.length;
    client.write(`{"jsonrpc":"2.0","id":${ids},"method":"tools/call","params":${params}}\n`);
    await client.answer(ids, from);
    return client.lines.slice(from).find((line) => JSON.parse(line).id === ids) ?? '';
  }

  /** The raw bytes of the last call but this one, as the server received them. */
  async function lastReceived(era: string, server: string): Promise<string> {
    const line = await called(era, `${server}__received`, '{"last":1,"method":"tools/call"}');
    const { messages } = JSON.parse(line).result.structuredContent;
    return Buffer.from(messages[0]?.base64 ?? '', 'base64').toString('utf8');
  }

  describe.each(eras)('a client of the %s era', (era) => {
    describe.each(eras)('and a server of the %s era', (server) => {
      it.each(Object.entries(awkwardArguments))(
        'arguments with %s arrive byte for byte #byte-exact #fleet',
        async (_what, args) => {
          const line = await called(era, `${server}__echo`, args);
          expect(await lastReceived(era, server)).toContain(`"arguments":${args}`);
          expect(line).toContain(`"structuredContent":${args}`);
        },
      );

      it.each(Object.entries(awkwardResults))(
        'a result with %s comes back byte for byte #byte-exact #fleet',
        async (_what, result) => {
          const encoded = Buffer.from(result).toString('base64');
          const line = await called(era, `${server}__raw`, JSON.stringify({ result: encoded }));
          // The only member that is put in, for a client of the modern era (docs/envelope.md).
          const relayed = line.replace(',"resultType":"complete"', '');
          expect(relayed).toBe(`{"jsonrpc":"2.0","id":${ids},"result":${result}}`);
        },
      );
    });
  });
});
