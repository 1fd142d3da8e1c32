import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { ErrorAnswer, text, tool } from '../../test/support/scripted-server.ts';

describe('a method', () => {
  it('of somebody’s own goes to the one server there is, as it is', async () => {
    const { legacy, servers } = newGateway({ a: { on: { 'vendor/do': () => '{"n":1.0}' } } });
    const reply = legacy().request('vendor/do', '{"a":1,"b":[1.0]}');
    await settled();
    expect(reply.answers).toEqual(['{"jsonrpc":"2.0","id":2,"result":{"n":1.0}}']);
    expect(servers.a.child.last('vendor/do').text).toContain('{"a":1,"b":[1.0],"_meta"');
  });

  it('of somebody’s own is unknown where it could be for several', async () => {
    const { legacy } = newGateway({ a: {}, b: {} });
    const reply = legacy().request('vendor/do');
    await settled();
    expect(reply.answered.error?.code).toBe(-32601);
  });

  it.each([
    'initialize',
    'ping',
    'logging/setLevel',
    'resources/subscribe',
    'resources/unsubscribe',
    'tasks/list',
    'tasks/result',
  ])('%s of the legacy era is not found by a modern client', async (method) => {
    const { modern, servers } = newGateway({ a: {} });
    const reply = modern().request(method);
    await settled();
    expect([reply.answered.error?.code, reply.codes]).toEqual([-32601, [-32601]]);
    expect(servers.a.children).toEqual([]);
  });

  it.each([
    ['completion/complete', '{"ref":{"name":"a","name":"b"}}', -32600],
    ['completion/complete', '{"ref":5}', -32602],
    ['completion/complete', '{}', -32602],
    ['completion/complete', '{"ref":{"type":"ref/prompt","name":"nobody"}}', -32602],
    ['resources/read', '{"uri":5}', -32602],
    ['resources/subscribe', '{}', -32602],
    ['resources/unsubscribe', '{"uri":[]}', -32602],
    ['logging/setLevel', '{"level":"loud"}', -32602],
    ['prompts/get', '{"name":{}}', -32602],
    ['tools/call', '{"name":null}', -32602],
    ['tools/call', '{}', -32602],
    ['tools/list', '{"cursor":{}}', -32602],
    ['__proto__', '{}', -32601],
    ['toString', '{}', -32601],
  ])(
    '%s with %s is answered with %i, and the next request is answered too',
    async (method, params, code) => {
      const { legacy } = newGateway({ a: {}, b: {} });
      const peer = legacy();
      const bad = peer.request(method, params);
      const good = peer.request('tools/list');
      await settled();
      expect(bad.answered.error?.code).toBe(code);
      expect(good.result).toEqual({ tools: [] });
    },
  );
});

describe('completion', () => {
  it("goes to the owner of the prompt or template, under the owner's name for it", async () => {
    const on = { 'completion/complete': () => ({ completion: { values: [] } }) };
    const { legacy, servers } = newGateway({
      a: { prompts: [{ name: 'p' }], on },
      b: { resourceTemplates: [{ uriTemplate: 'db://{t}', name: 't' }], on },
    });
    const peer = legacy();
    const rest = '"argument":{"name":"x","value":1.0}';
    const byName = peer.request(
      'completion/complete',
      `{"ref":{"type":"ref/prompt","name":"a__p"},${rest}}`,
    );
    const byUri = peer.request(
      'completion/complete',
      `{"ref":{"type":"ref/resource","uri":"db://{t}"},${rest}}`,
    );
    await settled();
    expect([byName.answers.length, byUri.answers.length]).toEqual([1, 1]);
    expect(servers.a.child.last('completion/complete').text).toContain(
      `"ref":{"type":"ref/prompt","name":"p"},${rest}`,
    );
    expect(servers.b.child.last('completion/complete').text).toContain('"uri":"db://{t}"');
  });
});

describe('a watched resource', () => {
  const script = {
    resources: [{ uri: 'file:///a', name: 'a' }],
    on: { 'resources/subscribe': () => ({}), 'resources/unsubscribe': () => ({}) },
  };

  it('is notified only to those who watch it', async () => {
    const { legacy, modern, servers } = newGateway({ s: script });
    const watching = legacy();
    const idle = legacy();
    const subscribed = watching.request('resources/subscribe', { uri: 'file:///a' });
    const listening = modern().request('subscriptions/listen', {
      notifications: { resourceSubscriptions: ['file:///a', 'file:///a'] },
    });
    const elsewhere = modern().request('subscriptions/listen', {
      notifications: { resourcesListChanged: true },
    });
    await settled();
    expect(subscribed.result).toEqual({});
    servers.s.child.say(
      '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a","x":1.0}}',
    );
    await settled();
    expect(watching.heard).toEqual([
      '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a","x":1.0}}',
    ]);
    expect([idle.heard, elsewhere.sent.length]).toEqual([[], 1]);
    expect(listening.messages.at(-1)).toMatchObject({
      method: 'notifications/resources/updated',
      params: { uri: 'file:///a', _meta: { 'io.modelcontextprotocol/subscriptionId': 1 } },
    });
  });

  it('is watched once at the server, and no longer when the last has stopped', async () => {
    const { legacy, servers } = newGateway({ s: script });
    const [one, two] = [legacy(), legacy()];
    for (const peer of [one, two, one]) peer.request('resources/subscribe', { uri: 'file:///a' });
    await settled();
    const { child } = servers.s;
    expect(child.heardAs('resources/subscribe').length).toBe(1);
    one.request('resources/unsubscribe', { uri: 'file:///a' });
    one.request('resources/unsubscribe', { uri: 'file:///a' });
    await settled();
    expect(child.heardAs('resources/unsubscribe').length).toBe(0);
    two.session.close();
    await settled();
    expect(child.heardAs('resources/unsubscribe').length).toBe(1);
  });

  it("that the server refuses to watch is refused with the server's error", async () => {
    const error = { code: -32099, message: 'not this one' };
    const { legacy, host } = newGateway({
      s: { ...script, on: { 'resources/subscribe': () => new ErrorAnswer(error) } },
    });
    const reply = legacy().request('resources/subscribe', { uri: 'file:///a' });
    await settled();
    expect(reply.answered.error).toEqual(error);
    expect(host.find('s').supervisor.leases.held).toBe(0);
  });
});

describe('a modern client that listens', () => {
  it('gets the granted subscriptions, and nothing else', async () => {
    const { modern, servers, clock } = newGateway({ s: { tools: [tool('t')] }, other: {} });
    const peer = modern();
    peer.request('tools/list');
    await settled();
    const listening = peer.request('subscriptions/listen', {
      notifications: {
        promptsListChanged: true,
        toolsListChanged: false,
        resourceSubscriptions: ['nowhere://x'],
      },
    });
    await settled();
    expect(listening.messages).toEqual([
      {
        jsonrpc: '2.0',
        method: 'notifications/subscriptions/acknowledged',
        params: {
          notifications: { promptsListChanged: true },
          _meta: { 'io.modelcontextprotocol/subscriptionId': 2 },
        },
      },
    ]);
    servers.s.child.note('notifications/tools/list_changed');
    servers.s.child.note('notifications/prompts/list_changed');
    await clock.advanceAsync(20);
    expect(listening.messages.slice(1).map(({ method }) => method)).toEqual([
      'notifications/prompts/list_changed',
    ]);
  });

  it('that goes away is forgotten, with all that it watched', async () => {
    const { modern, servers, clock } = newGateway({
      s: {
        resources: [{ uri: 'file:///a', name: 'a' }],
        on: { 'resources/subscribe': () => ({}), 'resources/unsubscribe': () => ({}) },
      },
    });
    const listening = modern().request('subscriptions/listen', {
      notifications: { toolsListChanged: true, resourceSubscriptions: ['file:///a'] },
    });
    await settled();
    listening.underway?.cancel();
    servers.s.child.note('notifications/tools/list_changed');
    await clock.advanceAsync(20);
    expect(servers.s.child.heardAs('resources/unsubscribe').length).toBe(1);
    expect([listening.sent.length, listening.answers]).toEqual([1, []]);
  });

  it('is notified of the end when the gateway shuts down', async () => {
    const { modern, gateway } = newGateway({ s: {} });
    const listening = modern().request('subscriptions/listen', { notifications: {} });
    await settled();
    await gateway[Symbol.asyncDispose]();
    expect(listening.result).toMatchObject({ resultType: 'complete' });
  });

  it('must say to what', async () => {
    const { modern } = newGateway({ s: {} });
    for (const params of [{}, { notifications: [] }, { notifications: 5 }]) {
      const reply = modern().request('subscriptions/listen', params);
      await settled();
      expect(reply.answered.error?.code).toBe(-32602);
    }
  });
});

describe('a task', () => {
  const extension = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

  it('is requested with the client’s own handle, and the server gets its own id', async () => {
    const task = { resultType: 'task', taskId: 'T', status: 'working' };
    const { modern, servers, host } = newGateway({
      s: {
        era: 'modern',
        tools: [tool('t')],
        on: { 'tools/call': () => task, 'tasks/get': () => task },
      },
      other: {},
    });
    host.setGuard(() => ({ allow: true }));
    const peer = modern(extension);
    const call = peer.call('s__t');
    await settled();
    const { taskId } = call.result;
    expect(taskId).not.toBe('T');
    const get = peer.request('tasks/get', { taskId });
    const stranger = modern(extension, { principal: { id: 'token:x', role: null }, key: 'x' });
    const stolen = stranger.request('tasks/get', { taskId });
    const raw = peer.request('tasks/get', { taskId: 'T' });
    const undeclared = modern({}).request('tasks/get', { taskId });
    await settled();
    expect(get.result['taskId']).toBe(taskId);
    expect(servers.s.heard('tasks/get').map(({ params }) => params['taskId'])).toEqual(['T']);
    expect([stolen, raw, undeclared].map(({ answered }) => answered.error?.code)).toEqual([
      -32602, -32602, -32021,
    ]);
  });
});

describe('what a client says to no one in particular', () => {
  it('is one message for its server, whatever line breaks it contains, without the members of the hop', async () => {
    const { legacy, servers } = newGateway({
      a: { tools: [tool('t')], on: { 'tools/call': () => text('') } },
    });
    const peer = legacy();
    peer.request('tools/call', { name: 'a__t' });
    await settled();
    peer.note(
      'notifications/vendor',
      '{"a":\n{"jsonrpc":"2.0","id":99,"method":"tools/call"}\r\n,"_meta":{"io.modelcontextprotocol/logLevel":"info","x":1.0}}',
    );
    await settled();
    expect(servers.a.child.heard.at(-1)?.text).toBe(
      '{"jsonrpc":"2.0","method":"notifications/vendor","params":{"a": {"jsonrpc":"2.0","id":99,"method":"tools/call"},"_meta":{"x":1.0}}}',
    );
  });

  it('never reaches a process that belongs to another client', async () => {
    const { legacy, servers } = newGateway(
      { a: { tools: [tool('t')], on: { 'tools/call': () => text('') } } },
      { config: { a: { isolation: 'client' } } },
    );
    const [one, two] = [legacy(), legacy()];
    for (const peer of [one, two]) {
      peer.request('tools/call', { name: 'a__t' });
      await settled();
    }
    one.note('notifications/vendor', { from: 'one' });
    one.note('notifications/roots/list_changed');
    await settled();
    const hearing = servers.a.children.filter(({ heard }) =>
      heard.some(({ method }) => method === 'notifications/vendor'),
    );
    expect(hearing.length).toBe(1);
    expect(servers.a.heard('notifications/vendor').length).toBe(1);
    expect(hearing[0]?.heardAs('notifications/roots/list_changed').length).toBe(1);
  });
});
