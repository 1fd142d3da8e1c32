import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { type Heard, tool } from '../../test/support/scripted-server.ts';

const elicit = (message: string) => ({
  method: 'elicitation/create',
  params: { mode: 'form', message, requestedSchema: { type: 'object', properties: {} } },
});

/** A modern server that asks as the script says, in front of a legacy client. */
function modernServer(answers: (call: Heard, count: number) => unknown) {
  let count = 0;
  const world = newGateway({
    m: {
      era: 'modern',
      tools: [tool('ask')],
      on: { 'tools/call': (heard) => answers(heard, ++count) },
    },
  });
  const peer = world.legacy({ elicitation: {}, sampling: {} });
  const call = () =>
    peer.request('tools/call', '{"name":"m__ask","arguments":{"n":9007199254740993}}');
  const calls = () => world.servers.m.heard('tools/call');
  return { ...world, peer, call, calls };
}

const asks = (inputRequests: object, requestState?: string) => ({
  resultType: 'input_required',
  inputRequests,
  ...(requestState === undefined ? {} : { requestState }),
});
const done = { resultType: 'complete', content: [] };

describe('a modern server that asks a legacy client', () => {
  it('has its questions put as requests on the stream of the call, and gets the answers with the call', async () => {
    const { peer, call, calls } = modernServer((_call, count) =>
      count === 1 ? asks({ a: elicit('A?'), 'b"': elicit('B?') }, 'the state') : done,
    );
    const reply = call();
    await settled();
    expect(reply.messages.map(({ id, method }) => [id, method])).toEqual([
      [1, 'elicitation/create'],
      [2, 'elicitation/create'],
    ]);
    peer.say('{"jsonrpc":"2.0","id":2,"result":{"action":"decline"}}');
    await settled();
    expect(calls().length).toBe(1);
    peer.say('{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"n":1.0}}}');
    await settled();
    expect(reply.result).toEqual({ content: [] });
    const [first, second] = calls();
    expect(second?.text).toContain(
      '"arguments":{"n":9007199254740993},"inputResponses":{"a":{"action":"accept","content":{"n":1.0}},"b\\"":{"action":"decline"}},"requestState":"the state"',
    );
    expect(second?.id).not.toBe(first?.id);
  });

  it('without a state gets none back', async () => {
    const { peer, call, calls } = modernServer((_call, count) =>
      count === 1 ? asks({ a: elicit('?') }) : done,
    );
    call();
    await settled();
    peer.answer(1, { action: 'cancel' });
    await settled();
    expect(calls()[1]?.params).not.toHaveProperty('requestState');
  });

  it('is answered by the error of a client that refuses, and the call ends in it', async () => {
    const { peer, call, calls } = modernServer(() => asks({ a: elicit('?') }, 's'));
    const reply = call();
    await settled();
    peer.say('{"jsonrpc":"2.0","id":1,"error":{"code":-7,"message":"no","data":1.0}}');
    await settled();
    expect(reply.answers).toEqual([
      '{"jsonrpc":"2.0","id":2,"error":{"code":-7,"message":"no","data":1.0}}',
    ]);
    expect([reply.codes, calls().length]).toEqual([[-7], 1]);
  });

  it('cannot ask for what the client has not declared', async () => {
    const { peer, call } = modernServer(() => asks({ r: { method: 'roots/list', params: {} } }));
    const reply = call();
    await settled();
    expect([reply.answered.error?.code, peer.heard]).toEqual([-32601, []]);
  });

  it('that is never satisfied is stopped after eight rounds', async () => {
    const { peer, call, calls } = modernServer(() => asks({ a: elicit('again?') }, 's'));
    const reply = call();
    for (let id = 1; id <= 12; id++) {
      await settled();
      peer.answer(id, { action: 'accept' });
    }
    await settled();
    expect(calls().length).toBe(9);
    expect(reply.result).toMatchObject({
      isError: true,
      _meta: { 'holdfast/fault': { code: 'protocol_violation', server: 'm' } },
    });
  });

  it('has its question taken back when the client gives up on the call', async () => {
    const { peer, call, calls } = modernServer(() => asks({ a: elicit('?') }, 's'));
    const reply = call();
    await settled();
    peer.note('notifications/cancelled', { requestId: 2 });
    await settled();
    peer.answer(1, { action: 'accept' });
    await settled();
    expect([calls().length, reply.answers]).toEqual([1, []]);
    expect(peer.methods()).toEqual(['notifications/cancelled']);
  });

  it('is counted once for every time that it was asked', async () => {
    const { peer, call, gateway } = modernServer((_call, count) =>
      count === 1 ? asks({ a: elicit('?') }, 's') : done,
    );
    call();
    await settled();
    peer.answer(1, { action: 'accept' });
    await settled();
    expect(gateway.traffic.snapshot()).toMatchObject({ requests: 2, successes: 2, inFlight: 0 });
  });
});
