// What one server or client sends, and what goes wrong while it is handled, concerns it alone.

import { describe, expect, it } from 'vitest';
import { newGateway, newHost, settled } from '../../test/support/fake-gateway.ts';
import { type Script, text, tool } from '../../test/support/scripted-server.ts';
import { Fault } from '../kernel/fault.ts';
import { localUser } from '../policy/principal.ts';
import { toolCall } from './call/operation.ts';
import type { Caller } from './connections/caller.ts';
import { bareClass } from './connections/client-class.ts';

const names = Object.getOwnPropertyNames(Object.prototype);
const script: Script = { tools: [tool('t')], on: { 'tools/call': () => text('done') } };
const fail = () => {
  throw new TypeError('a defect');
};

describe.each(names)('a server that says %s', (name) => {
  it('as the method of a notification, a question or a token goes on being served #one-bad-neighbour', async () => {
    const { host, servers, events, legacy } = newGateway({ s: script, other: script });
    const client = legacy({ elicitation: {} });
    const called = client.request('tools/call', { name: 's__t' });
    await settled();
    const { child } = servers.s;
    child.note(name);
    child.note(`notifications/${name}`);
    child.ask(name, name);
    child.note('notifications/progress', { progressToken: name, progress: 1 });
    child.note('notifications/cancelled', { requestId: name });
    child.note('notifications/resources/updated', { uri: name });
    await settled();
    for (const server of ['s', 'other']) {
      const again = client.request('tools/call', { name: `${server}__t` });
      await settled();
      expect(again.result).toMatchObject({ content: [{ text: 'done' }] });
    }
    expect(called.result).toBeDefined();
    expect(servers.s.children).toHaveLength(1);
    expect(events.filter(({ kind }) => kind === 'defect')).toEqual([]);
    expect(host.status().internalErrors).toBe(0);
  });

  it('as the name of a tool, prompt or resource is listed and called by it #one-bad-neighbour', async () => {
    const { modern, events } = newGateway({
      s: {
        tools: [tool(name)],
        prompts: [{ name }],
        resources: [{ uri: name, name }],
        on: {
          'tools/call': () => text('done'),
          'prompts/get': () => ({ messages: [] }),
          'resources/read': () => ({ contents: [] }),
        },
      },
    });
    const client = modern();
    const list = client.request('tools/list');
    await settled();
    expect(list.result).toMatchObject({ tools: [{ name: `s__${name}` }] });
    const asked = [
      client.call(`s__${name}`, { [name]: name }),
      client.request('prompts/get', { name: `s__${name}` }),
      client.request('resources/read', { uri: name }),
    ];
    await settled();
    expect(asked.map(({ result }) => Object.keys(result)[0])).not.toContain('error');
    expect(events.filter(({ kind }) => kind === 'defect')).toEqual([]);
  });
});

it.each([
  'notifications/message',
  'notifications/tasks/status',
  'notifications/tools/list_changed',
  'notifications/progress',
  'constructor',
])(
  'a server that sends %s before the handshake is served like any other #one-bad-neighbour',
  async (method) => {
    const params = { level: 'info', data: 'starting', taskId: '1', status: 'working' };
    const early: Script = {
      ...script,
      on: {
        ...script.on,
        initialize: (_heard, child) => {
          child.note(method, params);
          return {
            protocolVersion: '2025-11-25',
            capabilities: { tools: {} },
            serverInfo: { name: 'early', version: '1' },
          };
        },
      },
    };
    const { host, events, legacy } = newGateway({ s: early });
    const called = legacy().request('tools/call', { name: 's__t' });
    await settled();
    expect(called.result).toMatchObject({ content: [{ text: 'done' }] });
    expect(events.filter(({ kind }) => kind === 'defect')).toEqual([]);
    expect(host.status().internalErrors).toBe(0);
  },
);

describe.each(names)('a client that says %s', (name) => {
  it('anywhere in a message is answered like any other #one-bad-neighbour', async () => {
    const { legacy, modern, events } = newGateway({ s: script, other: script });
    const [old, young] = [legacy(), modern()];
    const replies = [
      old.request(name, {}, name),
      young.request(name),
      old.request('tools/call', { name, arguments: { [name]: 1 }, _meta: { progressToken: name } }),
      young.call(name, {}, { requestState: name, inputResponses: { [name]: {} } }),
      old.request('prompts/get', { name }),
      old.request('resources/read', { uri: name }),
      old.request('resources/subscribe', { uri: name }),
      old.request('completion/complete', { ref: { name }, argument: { name, value: name } }),
      old.request('logging/setLevel', { level: name }),
      young.request('tasks/get', { taskId: name }),
      young.request('tools/list', { cursor: name }),
    ];
    old.note(name);
    old.note('notifications/cancelled', { requestId: name });
    old.note('notifications/progress', { progressToken: name, progress: 1 });
    old.answer(name, {});
    await settled();
    for (const reply of replies) expect(reply.answers).toHaveLength(1);
    const call = old.request('tools/call', { name: 's__t' });
    await settled();
    expect(call.result).toMatchObject({ content: [{ text: 'done' }] });
    expect(events.filter(({ kind }) => kind === 'defect')).toEqual([]);
  });
});

describe('an error of our own', () => {
  it('in a listener to news costs the others nothing, and is told with the server’s name #one-bad-neighbour', async () => {
    const { host, servers, events, legacy } = newGateway({ s: script });
    const others = { serversChanged: fail, settingsChanged: fail, policyChanged: fail };
    host.news.subscribe({ ...others, listChanged: fail, updated: fail, task: fail });
    const heard: string[] = [];
    host.news.subscribe({
      ...others,
      listChanged: (server, kind) => heard.push(`${server} ${kind}`),
      updated: (server) => heard.push(`${server} updated`),
      task: ({ server }) => heard.push(`${server} task`),
    });
    const client = legacy();
    client.request('tools/call', { name: 's__t' });
    await settled();
    heard.length = 0;
    servers.s.child.note('notifications/tools/list_changed');
    servers.s.child.note('notifications/resources/updated', { uri: 'x:1' });
    await settled();
    expect(heard).toEqual(['s tools', 's updated']);
    expect(servers.s.children).toHaveLength(1);
    expect(events.filter(({ kind }) => kind === 'defect')).toMatchObject([
      { server: 's', code: 'internal', handled: 'news for clients', count: 1 },
    ]);
    expect(host.status().internalErrors).toBeGreaterThan(1);
  });

  it('while a question of a server is put to its client is the answer to the server #one-bad-neighbour', async () => {
    const { host, servers, events } = newHost({
      s: { ...script, on: { 'tools/call': () => undefined } },
    });
    const ask = { throws: fail, rejects: () => Promise.reject(new TypeError('a defect')) };
    for (const [id, asked] of Object.entries(ask)) {
      const client = {
        key: id,
        isAskedInCalls: false,
        hasRoots: () => false,
        ask: asked,
        tell: fail,
      };
      const caller = { principal: localUser, client, capabilities: '{}', logLevel: undefined };
      const request = { principal: localUser, server: 's', operation: toolCall('t', '{}') };
      const call = host.carry({ ...request, caller: caller as unknown as Caller });
      await settled();
      const { child } = servers.s;
      child.ask(id, 'elicitation/create', { message: '?' });
      child.note('notifications/message', { level: 'info', data: 'x' });
      await settled();
      expect(child.answerTo(id).error).toMatchObject({ code: -32603 });
      child.answer(child.last('tools/call'), text('done'));
      await call;
    }
    expect(events.filter(({ kind }) => kind === 'defect').length).toBeGreaterThan(0);
    expect(host.status().servers).toMatchObject([{ lastFault: { code: 'internal' } }]);
  });

  it('in the listener to a call’s progress is told, and the call goes on #one-bad-neighbour', async () => {
    const { host, events } = newHost({
      s: {
        tools: [tool('t')],
        on: {
          'tools/call': (heard, child) => {
            child.note('notifications/progress', { progressToken: heard.id, progress: 1 });
            return text('done');
          },
        },
      },
    });
    const result = await host.call('s', 't', {}, { onProgress: fail });
    expect(result).toMatchObject({ content: [{ text: 'done' }] });
    expect(events).toContainEqual(
      expect.objectContaining({ kind: 'defect', server: 's', handled: 'progress of a call' }),
    );
  });

  it('on the way of an answer to its client becomes the answer #one-bad-neighbour', async () => {
    const { gateway, legacy, events } = newGateway({ s: script });
    const client = legacy();
    let isBroken = true;
    const { resources } = gateway.view.of(localUser);
    const exposedAnswer = resources.exposedAnswer.bind(resources);
    resources.exposedAnswer = (...args) => (isBroken ? fail() : exposedAnswer(...args));
    const call = client.request('tools/call', { name: 's__t' });
    await settled();
    expect(call.result).toMatchObject({
      isError: true,
      _meta: { 'holdfast/fault': { code: 'internal', server: 's', dispatched: 'yes' } },
    });
    isBroken = false;
    const again = client.request('tools/call', { name: 's__t' });
    await settled();
    expect(again.result).toMatchObject({ content: [{ text: 'done' }] });
    expect(events).toContainEqual(
      expect.objectContaining({ kind: 'defect', handled: 'a message of the client' }),
    );
  });

  it.each(['tools/list', 'prompts/get', 'resources/read'])(
    'while %s is answered is the answer #one-bad-neighbour',
    async (method) => {
      const { gateway, modern, events } = newGateway({ s: script });
      gateway.view.list = fail;
      gateway.view.of(localUser).prompts.find = fail;
      gateway.view.of(localUser).resources.ownerOf = fail;
      const reply = modern().request(method, { name: 'x', uri: 'x:1' });
      await settled();
      expect(reply.answered.error).toMatchObject({ code: -32603 });
      expect(events).toContainEqual(expect.objectContaining({ kind: 'defect', code: 'internal' }));
    },
  );
});

describe('a connection that has been made', () => {
  const page = JSON.stringify({
    tools: Array.from({ length: 65_537 }, (_, at) => ({ name: `t${at}` })),
  });

  it('stays in use when its list is too long to be read #no-orphans', async () => {
    const { host, servers } = newHost({
      s: { on: { 'tools/list': () => page, 'tools/call': () => text('done') } },
    });
    for (let n = 0; n < 3; n++) {
      expect(await host.call('s', 't')).toMatchObject({ content: [{ text: 'done' }] });
    }
    expect(servers.s.children.filter(({ isGone }) => !isGone)).toHaveLength(1);
    const listing = await host.tools('s').catch((error: unknown) => error);
    expect(listing).toMatchObject({ code: 'protocol_violation' });
  });

  it('is closed when reading its lists throws what nobody expected #no-orphans', async () => {
    const { host, servers, clock } = newHost({ s: script });
    const aim = { era: 'legacy', clients: bareClass } as const;
    const { catalogue } = host.find('s').offerings.of(aim);
    const tryLoad = catalogue.tryLoad.bind(catalogue);
    let failures = 3;
    catalogue.tryLoad = (connection) => (failures-- > 0 ? fail() : tryLoad(connection));
    for (let n = 0; n < 3; n++) {
      await expect(host.call('s', 't')).rejects.toMatchObject({ code: 'internal' });
      await clock.advanceAsync(10_000);
    }
    expect(servers.s.children.length).toBeGreaterThanOrEqual(3);
    expect(servers.s.children.filter(({ isGone }) => !isGone)).toHaveLength(0);
    expect(await host.call('s', 't')).toMatchObject({ content: [{ text: 'done' }] });
  });

  it('is closed when it cannot be installed #no-orphans', async () => {
    const { host, servers } = newHost({ s: script });
    const arrived = host.parts.pool.arrived.bind(host.parts.pool);
    host.parts.pool.arrived = fail;
    const fault = await host.call('s', 't').catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(Fault);
    await settled();
    expect(servers.s.children.map(({ isGone }) => isGone)).toEqual([true]);
    host.parts.pool.arrived = arrived;
  });
});
