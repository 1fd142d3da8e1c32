// What clients of both eras see when a call cannot be answered by its server: a result the model can
// read, with the record of the fault; an error for every other method; the server's own error as it
// came; and of a tool that is hidden no more than of one that does not exist.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome, type Served } from '../support/gateway-home.ts';
import { HttpClient, type LegacyClient } from '../support/gateway-http-client.ts';
import type { Json } from '../support/gateway-stdio-client.ts';

let home: GatewayHome;
let served: Served;
let client: HttpClient;
let session: LegacyClient;

beforeAll(async () => {
  home = await GatewayHome.create({
    mcpServers: {
      files: {
        ...faultyStdio(),
        callTimeoutMs: 300,
        tools: { add: { hidden: true }, get: { as: 'read' } },
      },
      docs: { ...faultyStdio({ era: 'legacy' }), concurrency: 1, queue: 0 },
    },
  });
  served = await home.serve();
  client = new HttpClient(served.url);
  session = await client.session();
  await client.modern('tools/list');
});

afterAll(async () => {
  client[Symbol.dispose]();
  await served.stop();
  await home[Symbol.asyncDispose]();
});

const eras = ['modern', 'legacy'] as const;
type Era = (typeof eras)[number];

function call(era: Era, name: string, args: object = {}, id: unknown = 1): Promise<Json> {
  return era === 'modern' ? client.call(name, args) : session.call(name, args, id);
}

describe.each(eras)('a %s client', (era) => {
  it.each([
    ['crash-before-effect', { code: 'outcome_unknown', dispatched: 'maybe' }],
    ['hang', { code: 'timeout', dispatched: 'maybe' }],
    ['garbage', { code: 'timeout', dispatched: 'maybe' }],
  ])('reads the fault of a call whose server does %s as a result', async (kind, expected) => {
    const { result, error } = await call(era, 'files__slow', { ms: 1, fault: { kind } });
    expect(error).toBeUndefined();
    expect(result.isError).toBe(true);
    expect(result.resultType).toBe(era === 'modern' ? 'complete' : undefined);
    const fault = result._meta['holdfast/fault'];
    expect(fault).toMatchObject({ ...expected, server: 'files', tool: 'slow' });
    expect(result.content).toEqual([{ type: 'text', text: fault.detail }]);
    expect(fault.detail).not.toContain('\n');
  });

  it('reads that a server is overloaded', async () => {
    const long = call(era, 'docs__slow', { ms: 400 }, 'long');
    let refused: Json;
    // Whichever of the two arrives second finds the place taken.
    do refused = await call(era, 'docs__slow', { ms: 400 }, 'second');
    while (refused.result.isError !== true);
    expect(refused.result._meta['holdfast/fault']).toMatchObject({
      code: 'overloaded',
      dispatched: 'no',
      retryable: true,
    });
    await long;
  });

  it('gets an error of the server itself as it came, to the byte', async () => {
    const data = { n: 1, why: ['on', 'purpose'] };
    const args = { code: 4711, message: 'as I like', data };
    const { error } = await call(era, 'files__rpc_fail', args);
    expect(error).toEqual({ code: 4711, message: 'as I like', data });
    const { result } = await call(era, 'files__fail', { text: 'could not connect' });
    expect(result).toMatchObject({ isError: true, content: [{ text: 'could not connect' }] });
    expect(result._meta?.['holdfast/fault']).toBeUndefined();
  });

  it('cannot tell a hidden tool from one that does not exist #guard', async () => {
    const names = ['files__add', 'files__nil', 'nobody__add', 'nil', 'files__', '__', 'files__get'];
    for (const name of names) {
      const { error } = await call(era, name);
      expect(error).toEqual({ code: -32_602, message: `Unknown tool: ${name}` });
    }
    const { result } = await call(era, 'read', { key: 'x' });
    expect(result.structuredContent).toEqual({ value: null });
  });
});

describe('a fault of anything but a tool call', () => {
  it.each(eras)(
    'is an internal error for a %s client, with the record in its data',
    async (era) => {
      await using home = await GatewayHome.create({
        mcpServers: { dead: { command: '/bin/false' } },
      });
      await using served = await home.serve();
      using client = new HttpClient(served.url);
      const answer =
        era === 'modern'
          ? await client.modern('custom/method')
          : await (await client.session()).ask('custom/method');
      expect(answer.status).toBe(200);
      expect(answer.json.error).toMatchObject({
        code: -32_603,
        data: { code: 'unavailable', server: 'dead', dispatched: 'no' },
      });
      expect(answer.json.error.message).toBe(answer.json.error.data.detail);
    },
  );
});
