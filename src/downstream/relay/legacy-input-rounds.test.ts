import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../../test/support/fake-gateway.ts';
import { type Heard, tool } from '../../../test/support/scripted-server.ts';

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
    expect(gateway.host.traffic.snapshot()).toMatchObject({
      requests: 2,
      successes: 2,
      inFlight: 0,
    });
  });
});

describe('a modern server that asks a legacy client with a malformed message', () => {
  const elicitation = (params: unknown) => ({ a: { method: 'elicitation/create', params } });
  it.each([
    ['no inputRequests', undefined],
    ['null', null],
    ['a number', 1],
    ['a text', 'elicitation/create'],
    ['a list', [elicit('?')]],
    ['a request that is null', { a: null }],
    ['a request that is a number', { a: 1 }],
    ['a request that is a list', { a: [elicit('?')] }],
    ['a request without a method', { a: { params: {} } }],
    ['a method that is a number', { a: { method: 1, params: {} } }],
    ['an empty method', { a: { method: '', params: {} } }],
    ['the method of a notification', { a: { method: 'notifications/cancelled', params: {} } }],
    ['params that are a number', elicitation(5)],
    ['params that are null', elicitation(null)],
    ['params that are a list', elicitation([1])],
    ['a _meta that is a number', elicitation({ _meta: 5 })],
    ['one good request and a bad one', { a: elicit('?'), b: elicitation(5).a }],
  ])('ends its call in one answer: %s #one-answer', async (_what, inputRequests) => {
    const { peer, call, calls, gateway } = modernServer(() => asks(inputRequests as object));
    const reply = call();
    await settled();
    expect(reply.result).toMatchObject({
      isError: true,
      _meta: { 'holdfast/fault': { code: 'protocol_violation', server: 'm', dispatched: 'yes' } },
    });
    expect([calls().length, reply.messages, peer.heard]).toEqual([1, [], []]);
    expect(gateway.host.traffic.snapshot()).toMatchObject({ inFlight: 0 });
  });

  it('ends its call in one answer: a key twice #one-answer', async () => {
    const twice = '{"a":{"method":"roots/list","method":"elicitation/create"}}';
    const { call } = modernServer(() => `{"resultType":"input_required","inputRequests":${twice}}`);
    const reply = call();
    await settled();
    expect(reply.result).toMatchObject({ isError: true });
  });

  it('may ask for nothing and give a state to come back with', async () => {
    const { call, calls } = modernServer((_call, count) =>
      count === 1 ? { resultType: 'input_required', inputRequests: null, requestState: 's' } : done,
    );
    const reply = call();
    await settled();
    expect([reply.result, calls()[1]?.params['requestState']]).toEqual([{ content: [] }, 's']);
  });
});

it('a legacy client that never answers what it is asked gets an answer to its call #one-answer', async () => {
  const { call, clock, peer } = modernServer(() => asks({ a: elicit('?') }, 's'));
  const reply = call();
  await settled();
  await clock.advanceAsync(600_000);
  expect(reply.result).toMatchObject({
    isError: true,
    _meta: { 'holdfast/fault': { code: 'timeout', server: 'm', dispatched: 'yes' } },
  });
  expect(reply.messages.map(({ method }) => method)).toEqual([
    'elicitation/create',
    'notifications/cancelled',
  ]);
  expect(peer.session.inFlight).toBe(0);
});
