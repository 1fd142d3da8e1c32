// What was allowed when it began and is not any more: parked calls, subscriptions that wait for their server, and
// tasks, which are decided by the tool that began them, also when nothing else is known of them.

import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { type Script, text, tool } from '../../test/support/scripted-server.ts';
import type { RoleInput } from '../config/config-input.ts';
import type { Principal } from '../policy/principal.ts';
import { Seal } from './relay/seal.ts';
import { TaskHandles } from './tasks/task-handles.ts';

const principal: Principal = { id: 'token:w', role: 'worker' };
const extension = 'io.modelcontextprotocol/tasks';

function newWorld(script: Script, allow: readonly string[]) {
  const world = newGateway({ s: script }, { settings: { roles: { worker: { allow } } } });
  const { host, config, modern, legacy, servers } = world;
  const capabilities = { elicitation: {}, extensions: { [extension]: {} } };
  const peer = modern(capabilities, { principal, key: principal.id });
  const allowOnly = async (...patterns: string[]) => {
    const worker: RoleInput = { allow: patterns };
    await host.apply({ mcpServers: config.mcpServers, roles: { worker }, hostTools: false });
  };
  const initialized = () => {
    const { child } = servers.s;
    servers.s.script = script;
    child.answer(child.last('initialize'), {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {}, resources: { subscribe: true } },
      serverInfo: { name: 's', version: '1' },
    });
  };
  return { ...world, peer, session: () => legacy({}, principal), allowOnly, initialized };
}

describe('a parked call whose tool is taken away', () => {
  it('is not continued, and its outcome is not given out #policy-at-once', async () => {
    const tools = [tool('ask'), tool('other')];
    const script: Script = { tools, on: { 'tools/call': () => undefined } };
    const { peer, servers, allowOnly } = newWorld(script, ['s/*']);
    const asked = peer.call('s__ask');
    await settled();
    const { child } = servers.s;
    child.ask(50, 'elicitation/create', { message: '?', requestedSchema: { type: 'object' } });
    await settled();
    const { requestState } = asked.result as { requestState: string };
    await allowOnly('s/other');
    const inputResponses = { q1: { action: 'accept', content: {} } };
    const again = () => peer.call('s__ask', {}, { requestState, inputResponses });
    const refused = again();
    await settled();
    // The question was withdrawn: the server hears that, and not what the client has answered.
    const told = child.heard.filter(({ id, method }) => id === 50 && !method);
    expect(told.map(({ result }) => result)).toEqual([undefined]);
    child.answer(child.last('tools/call'), text('outcome'));
    const late = again();
    await settled();
    for (const { answered } of [refused, late]) {
      expect(answered.error).toMatchObject({ message: 'Unknown tool: s__ask' });
    }
  });
});

describe('a subscription whose resource is taken away while its server starts', () => {
  it('is unknown, and the server is not kept for it #policy-at-once', async () => {
    const script: Script = {
      tools: [tool('t')],
      resources: [{ uri: 'x://a', name: 'a' }],
      on: { 'resources/subscribe': () => undefined },
    };
    const { session, servers, allowOnly } = newWorld(script, ['s/t', 'resource:s/*']);
    const reply = session().request('resources/subscribe', { uri: 'x://a' });
    await settled();
    await allowOnly('s/t');
    const { child } = servers.s;
    child.answer(child.last('resources/subscribe'), {});
    await settled();
    expect(reply.answered.error).toMatchObject({ code: -32602 });
    expect(child.heardAs('resources/unsubscribe')).toHaveLength(1);
  });
});

const times = { createdAt: '', lastUpdatedAt: '', ttlMs: 60_000 };
const taskOf = (taskId: string) => ({ taskId, status: 'working', ...times });
const taskServer: Script = {
  era: 'modern',
  capabilities: { tools: {}, extensions: { [extension]: {} } },
  tools: [tool('long'), tool('other')],
  on: {
    'tools/call': ({ params }) => ({
      resultType: 'task',
      ...taskOf(params['name'] === 'long' ? 't-1' : 't-2'),
    }),
    'tasks/get': () => ({ resultType: 'complete', ...taskOf('t-1') }),
  },
};

/**
 * Of tasks, one of each tool, whose connection has ended: the server may still know them, and only the handle says
 * which tool it was.
 */
async function forgottenTasks() {
  const world = newWorld(taskServer, ['s/*']);
  const { peer, servers, host, clock } = world;
  const begun = [peer.call('s__long'), peer.call('s__other')];
  await settled();
  const taskIds = begun.map(({ result }) => String(result['taskId']));
  const [taskId = ''] = taskIds;
  servers.s.child.exit();
  await settled();
  await clock.advanceAsync(20_000);
  expect(host.tasks.find('s', 't-1', { era: 'modern', principal, client: peerClient })).toBe(
    undefined,
  );
  const get = async () => {
    const reply = peer.request('tasks/get', { taskId });
    await settled();
    await clock.advanceAsync(20_000);
    return reply.answered;
  };
  const listen = async (...handles: string[]) => {
    const notifications = { taskIds: handles };
    const reply = peer.request('subscriptions/listen', { notifications });
    await settled();
    await clock.advanceAsync(20_000);
    return reply;
  };
  const tell = async (id = 't-1') => {
    const { child } = servers.s;
    const subscriptionId = child.last('subscriptions/listen').id;
    const _meta = { 'io.modelcontextprotocol/subscriptionId': subscriptionId };
    child.note('notifications/tasks', { ...taskOf(id), _meta });
    await settled();
  };
  return { ...world, taskId, taskIds, get, listen, tell };
}

const peerClient = { key: principal.id } as never;

describe('a task that is known by its handle alone', () => {
  it('is decided by the tool that began it, not by any tool of its server #policy-at-once', async () => {
    const { get, servers, allowOnly, taskId } = await forgottenTasks();
    expect((await get()).result).toMatchObject({ taskId, status: 'working' });
    const asked = servers.s.heard('tasks/get').length;
    await allowOnly('s/other');
    expect((await get()).error).toBeDefined();
    expect(servers.s.heard('tasks/get')).toHaveLength(asked);
    await allowOnly('s/long');
    expect((await get()).result).toMatchObject({ taskId, status: 'working' });
  });

  it('is watched, and heard of, by who may use its tool only #policy-at-once', async () => {
    const { listen, tell, allowOnly, taskId } = await forgottenTasks();
    const heard = (reply: Awaited<ReturnType<typeof listen>>) =>
      reply.messages.filter(({ method }) => method === 'notifications/tasks').length;
    const open = await listen(taskId);
    await tell();
    expect(heard(open)).toBe(1);
    await allowOnly('s/other');
    await tell();
    expect(heard(open)).toBe(1);
    expect(JSON.stringify((await listen(taskId)).messages[0])).not.toContain('taskIds');
  });

  it('is not watched by who may not use its tool, and no server is started for that #policy-at-once #roles-deny', async () => {
    const { listen, servers, allowOnly, taskId } = await forgottenTasks();
    const { children } = servers.s;
    const before = children.length;
    await allowOnly('s/other');
    expect(JSON.stringify((await listen(taskId)).messages[0])).not.toContain('taskIds');
    expect(children).toHaveLength(before);
    await allowOnly('s/long');
    expect(JSON.stringify((await listen(taskId)).messages[0])).toContain('taskIds');
    expect(children).toHaveLength(before + 1);
  });

  it('is not heard of on a stream that stays for another task of its server #policy-at-once #roles-deny', async () => {
    const { servers, listen, allowOnly, taskIds, tell } = await forgottenTasks();
    const open = await listen(...taskIds);
    expect(servers.s.heard('subscriptions/listen')).toHaveLength(1);
    const heard = () =>
      open.messages
        .filter(({ method }) => method === 'notifications/tasks')
        .map(({ params }) => taskIds.indexOf((params as { taskId: string }).taskId));
    await tell('t-1');
    await tell('t-2');
    expect(heard()).toEqual([0, 1]);
    await allowOnly('s/other');
    await tell('t-1');
    await tell('t-2');
    expect(heard()).toEqual([0, 1, 1]);
  });

  it('is not watched if its tool is taken away while the server starts #policy-at-once', async () => {
    const { peer, servers, allowOnly, taskId, clock } = await forgottenTasks();
    servers.s.script = { ...taskServer, on: { 'server/discover': () => undefined } };
    const reply = peer.request('subscriptions/listen', { notifications: { taskIds: [taskId] } });
    await settled();
    await allowOnly('s/other');
    const { child } = servers.s;
    servers.s.script = taskServer;
    child.answer(child.last('server/discover'), {
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: taskServer.capabilities,
      ttlMs: 0,
      cacheScope: 'private',
    });
    await clock.advanceAsync(20_000);
    expect(JSON.stringify(reply.messages[0])).not.toContain('taskIds');
    expect(servers.s.heard('subscriptions/listen')).toEqual([]);
  });

  it('is nothing under a handle of the older form, which names no tool #policy-at-once', async () => {
    const seal = new Seal();
    const older = seal.names.hide(['task', principal.id], JSON.stringify(['s', 't-1']));
    expect(new TaskHandles(seal).ownerOf(older, principal)).toBeUndefined();
  });
});
