import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../../test/support/fake-gateway.ts';
import { ErrorAnswer, type Script, text, tool } from '../../../test/support/scripted-server.ts';

const open: Script = { tools: [tool('t')], on: { 'tools/call': () => undefined } };

describe('a call', () => {
  it('reaches its server with the client’s own bytes, and the result comes back as bytes', async () => {
    const result = '{"content":[],"structuredContent":{"n":9007199254740993,"a":1,"a":2},"x":1.0}';
    const { legacy, servers } = newGateway({
      a: { tools: [tool('t')], on: { 'tools/call': () => result } },
    });
    const params =
      '{"name":"a__t","arguments":{"n":1e400,"d":1,"d":2},"_meta":{"traceparent":"00","progressToken":"p"},"unknown":[1.0]}';
    const call = legacy().request('tools/call', params);
    await settled();
    const { text: line, id } = servers.a.child.last('tools/call');
    expect(line).toBe(
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"t","arguments":{"n":1e400,"d":1,"d":2},"unknown":[1.0],"_meta":{"progressToken":${id},"traceparent":"00"}}}`,
    );
    expect(call.answers).toEqual([`{"jsonrpc":"2.0","id":2,"result":${result}}`]);
  });

  it('is answered by the server’s own error as it came, on one line', async () => {
    const { legacy } = newGateway({
      a: {
        tools: [tool('t')],
        on: {
          'tools/call': (heard, child) => {
            child.say(
              `{"jsonrpc":"2.0","id":${heard.id},"error":{"code":-32099,"message":"x","data":{"n":1.0}}}`,
            );
          },
        },
      },
    });
    const call = legacy().request('tools/call', { name: 'a__t' });
    await settled();
    expect(call.answers).toEqual([
      '{"jsonrpc":"2.0","id":2,"error":{"code":-32099,"message":"x","data":{"n":1.0}}}',
    ]);
    expect(call.codes).toEqual([-32099]);
  });

  it('whose server is lost ends in a result that a model can read', async () => {
    const { legacy, modern, servers } = newGateway({ a: open });
    const old = legacy().request('tools/call', { name: 'a__t' });
    await settled();
    const young = modern().call('a__t');
    await settled();
    for (const child of servers.a.children) child.exit();
    await settled();
    for (const { result } of [old, young]) {
      expect(result).toMatchObject({
        isError: true,
        content: [{ type: 'text', text: expect.stringContaining('a/t') }],
        _meta: { 'holdfast/fault': { code: 'outcome_unknown', server: 'a', tool: 't' } },
      });
    }
    expect([old.result['resultType'], young.result['resultType']]).toEqual([undefined, 'complete']);
  });

  it('of another method ends in -32603 with the record', async () => {
    const { legacy, servers, clock } = newGateway({
      a: { prompts: [{ name: 'p' }], on: { 'prompts/get': (_heard, child) => void child.exit() } },
    });
    const get = legacy().request('prompts/get', { name: 'a__p' });
    await clock.advanceAsync(10_000);
    expect(get.answered.error).toMatchObject({ code: -32603, data: { server: 'a', attempts: 2 } });
    expect(servers.a.heard('prompts/get').length).toBe(2);
  });

  it('that its client cancels is cancelled at the server, and nothing more is sent for it', async () => {
    const { legacy, servers } = newGateway({ a: open });
    const peer = legacy();
    const call = peer.request('tools/call', { name: 'a__t', _meta: { progressToken: 1 } });
    await settled();
    const { child } = servers.a;
    const { id } = child.last('tools/call');
    peer.note('notifications/cancelled', { requestId: 2 });
    await settled();
    expect(child.last('notifications/cancelled').params['requestId']).toBe(id);
    child.note('notifications/progress', { progressToken: id, progress: 1 });
    child.say({ jsonrpc: '2.0', id, result: text('late') });
    await settled();
    expect([call.sent, call.answers, peer.heard]).toEqual([[], [], []]);
  });

  it('gets progress with its own token, and late progress is dropped', async () => {
    const { legacy, servers } = newGateway({ a: open });
    const peer = legacy();
    const one = peer.request('tools/call', '{"name":"a__t","_meta":{"progressToken":"\\u0031"}}');
    const two = peer.request('tools/call', { name: 'a__t', _meta: { progressToken: 1 } });
    await settled();
    const { child } = servers.a;
    const [first, second] = child.heardAs('tools/call');
    if (!first || !second) throw new Error('two calls');
    child.note('notifications/progress', { progressToken: second.id, progress: 1 });
    child.note('notifications/progress', { progressToken: first.id, progress: 2 });
    child.answer(first, text('done'));
    child.note('notifications/progress', { progressToken: first.id, progress: 3 });
    await settled();
    expect(one.sent).toEqual([
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"\\u0031","progress":2}}',
    ]);
    expect(two.messages).toMatchObject([{ params: { progressToken: 1, progress: 1 } }]);
    expect(peer.heard).toEqual([]);
  });

  it('of a tool that is hidden and of one that does not exist are answered alike', async () => {
    const { legacy } = newGateway(
      { a: { tools: [tool('t'), tool('secret')] } },
      { config: { a: { tools: { secret: { hidden: true } } } } },
    );
    const peer = legacy();
    const replies = ['a__secret', 'a__nothing', 'secret', ''].map((name) =>
      peer.request('tools/call', { name }),
    );
    await settled();
    expect(replies.map(({ answered }) => answered.error)).toEqual([
      { code: -32602, message: 'Unknown tool: a__secret' },
      { code: -32602, message: 'Unknown tool: a__nothing' },
      { code: -32602, message: 'Unknown tool: secret' },
      { code: -32602, message: 'Unknown tool: ' },
    ]);
  });
});

describe('a modern server behind a modern client', () => {
  const asks: Script = {
    era: 'modern',
    tools: [tool('t'), tool('u')],
    on: {
      'tools/call': ({ params }) =>
        params['requestState'] === undefined
          ? { resultType: 'input_required', inputRequests: {}, requestState: 'upstream' }
          : { resultType: 'complete', content: [] },
    },
  };

  it('has its state sealed on the way out and opened on the way back', async () => {
    const { modern, servers } = newGateway({ a: asks });
    const peer = modern();
    const first = peer.call('a__t');
    await settled();
    const state = first.result['requestState'];
    expect(state).not.toContain('upstream');
    const second = peer.call('a__t', {}, { requestState: state, inputResponses: { k: { n: 1 } } });
    await settled();
    expect(second.result).toEqual({ resultType: 'complete', content: [] });
    expect(servers.a.child.last('tools/call').params).toMatchObject({
      requestState: 'upstream',
      inputResponses: { k: { n: 1 } },
    });
  });

  it('never sees a state that was given to another person, for another tool, or made up', async () => {
    const { modern, servers, host } = newGateway({ a: asks });
    host.setGuard(() => ({ allow: true }));
    const peer = modern();
    const first = peer.call('a__t');
    await settled();
    const requestState = first.result['requestState'] as string;
    const stranger = modern({}, { principal: { id: 'token:x', role: null }, key: 'x' });
    const refused = [
      stranger.call('a__t', {}, { requestState }),
      peer.call('a__u', {}, { requestState }),
      peer.call('a__t', {}, { requestState: 'upstream' }),
      peer.call('a__t', {}, { requestState: null }),
    ];
    await settled();
    for (const { answered } of refused) expect(answered.error?.code).toBe(-32602);
    expect(servers.a.heard('tools/call').length).toBe(1);
  });

  it("gets the client's capabilities and log level", async () => {
    const { modern, servers } = newGateway({ a: asks });
    modern({ sampling: { x: 1 } }, { logLevel: 'warning' }).call('a__t');
    await settled();
    expect(servers.a.child.last('tools/call').params['_meta']).toMatchObject({
      'io.modelcontextprotocol/clientCapabilities': { sampling: { x: 1 } },
      'io.modelcontextprotocol/logLevel': 'warning',
    });
  });
});

describe('a legacy server that refuses a call until addresses were visited', () => {
  const error = {
    code: -32042,
    message: 'visit',
    data: { elicitations: [{ mode: 'url', elicitationId: 'e', url: 'https://x', message: 'm' }] },
  };

  it('asks a modern client for input, and the call is sent again as it was', async () => {
    let isVisited = false;
    const { modern, servers } = newGateway({
      a: {
        tools: [tool('t')],
        on: { 'tools/call': () => (isVisited ? text('in') : new ErrorAnswer(error)) },
      },
    });
    const peer = modern({ elicitation: { url: {} } });
    const first = peer.call('a__t', { n: 1 });
    await settled();
    expect(first.result['inputRequests']).toEqual({
      url1: {
        method: 'elicitation/create',
        params: { mode: 'url', url: 'https://x', message: 'm' },
      },
    });
    isVisited = true;
    const { requestState } = first.result;
    const inputResponses = { url1: { action: 'accept' } };
    const second = peer.call('a__t', { n: 1 }, { requestState, inputResponses });
    await settled();
    expect(second.result).toMatchObject(text('in'));
    const { _meta, ...params } = servers.a.child.last('tools/call').params;
    expect(params).toEqual({ name: 't', arguments: { n: 1 } });
  });

  it('is an error to a client that cannot visit any', async () => {
    const { modern } = newGateway({
      a: { tools: [tool('t')], on: { 'tools/call': () => new ErrorAnswer(error) } },
    });
    const call = modern({ elicitation: {} }).call('a__t');
    await settled();
    expect(call.answered.error?.code).toBe(-32021);
  });
});
