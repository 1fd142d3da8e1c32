import { describe, expect, it } from 'vitest';
import { newGateway, newHost, settled } from '../../../test/support/fake-gateway.ts';
import {
  ErrorAnswer,
  type Heard,
  type Script,
  type ScriptedChild,
  tool,
} from '../../../test/support/scripted-server.ts';
import { cutBy } from '../../policy/principal.ts';

const extension = 'io.modelcontextprotocol/tasks';
const declaring = { extensions: { [extension]: {} } };
const times = { createdAt: 'x', lastUpdatedAt: 'y', ttlMs: 60_000, pollIntervalMs: 500 };

/** Makes a task of every call of a client that declares the extension; refuses the others. */
function taskServer(get: (heard: Heard, count: number) => object): Script {
  let count = 0;
  const must = (answer: (heard: Heard) => unknown) => (heard: Heard) => {
    const meta = heard.params['_meta'] as Record<string, { extensions?: object }>;
    const own = meta['io.modelcontextprotocol/clientCapabilities'];
    return own?.extensions && extension in own.extensions
      ? answer(heard)
      : new ErrorAnswer({ code: -32021, message: 'Missing required client capability' });
  };
  return {
    era: 'modern',
    capabilities: { tools: {}, extensions: { [extension]: {} } },
    tools: [tool('t')],
    on: {
      'tools/call': must(() => ({
        resultType: 'task',
        taskId: 'x-1',
        status: 'working',
        ...times,
      })),
      'tasks/get': must((heard) => ({
        resultType: 'complete',
        taskId: 'x-1',
        ...times,
        ...get(heard, ++count),
      })),
      'tasks/update': must(() => ({ resultType: 'complete' })),
      'tasks/cancel': must(() => ({ resultType: 'complete' })),
    },
  };
}

const working = { status: 'working' };
const done = { status: 'completed', result: { content: [], n: 1 } };

const question = { method: 'elicitation/create', params: { message: 'who?' } };
const asking = { status: 'input_required', inputRequests: { who: question } };

describe('a call that a modern server makes a task', () => {
  it('is followed for a legacy client: it gets the result', async () => {
    const script = taskServer((_heard, count) => (count < 3 ? working : done));
    const { legacy, servers, clock } = newGateway({ a: script });
    const call = legacy().request('tools/call', { name: 'a__t' });
    await settled();
    expect(call.answers).toEqual([]);
    await clock.advanceAsync(2_000);
    expect(call.result).toEqual({ content: [], n: 1 });
    expect(servers.a.heard('tools/call')).toHaveLength(1);
    expect(servers.a.heard('tasks/get')).toHaveLength(3);
  });

  it('is refused by the server itself to a modern client that has not declared the extension', async () => {
    const { modern } = newGateway({ a: taskServer(() => done) });
    const call = modern({ roots: {} }).request('tools/call', { name: 'a__t' });
    await settled();
    expect(call.answered.error).toMatchObject({ code: -32021 });
  });

  it('is shown to a client with the extension, under a handle of its own', async () => {
    const { modern, servers } = newGateway({ a: taskServer(() => done) });
    const peer = modern(declaring);
    const call = peer.call('a__t');
    await settled();
    const { taskId } = call.result as { taskId: string };
    expect(call.result).toEqual({ resultType: 'task', taskId, status: 'working', ...times });
    expect(taskId).not.toBe('x-1');
    const get = peer.request('tasks/get', { taskId });
    await settled();
    expect(get.result).toMatchObject({ taskId, ...done });
    expect(servers.a.heard('tasks/get')).toHaveLength(1);
  });

  it('ends in the server’s own error if the task has failed', async () => {
    const error = { code: -32050, message: 'rate limit', data: { n: 1 } };
    const { legacy, clock } = newGateway({ a: taskServer(() => ({ status: 'failed', error })) });
    const call = legacy().request('tools/call', { name: 'a__t' });
    await clock.advanceAsync(2_000);
    expect(call.answered.error).toEqual(error);
  });

  it.each([
    ['the server cancels it', { status: 'cancelled' }, { error: { code: -32603 } }],
    [
      'the server describes it in no way of MCP',
      { status: 'completed' },
      { result: { _meta: { 'holdfast/fault': { code: 'protocol_violation' } } } },
    ],
  ])('ends in an answer although %s', async (_what, state, answer) => {
    const { legacy, clock } = newGateway({ a: taskServer(() => state) });
    const call = legacy().request('tools/call', { name: 'a__t' });
    await clock.advanceAsync(2_000);
    expect(call.answered).toMatchObject(answer);
  });

  it('asks the client what the task needs, once, and brings the answer to the task', async () => {
    const script = taskServer((_heard, count) => (count < 4 ? asking : done));
    const { legacy, servers, clock } = newGateway({ a: script });
    const peer = legacy({ elicitation: {} });
    const call = peer.request('tools/call', { name: 'a__t' });
    await clock.advanceAsync(600);
    expect(call.messages).toMatchObject([question]);
    const { id } = call.messages[0] as { id: number };
    const given = { action: 'accept', content: { name: 'Ada' } };
    peer.answer(id, given);
    await clock.advanceAsync(3_000);
    expect(servers.a.child.last('tasks/update').params).toMatchObject({
      taskId: 'x-1',
      inputResponses: { who: given },
    });
    expect(servers.a.heard('tasks/update')).toHaveLength(1);
    expect(call.messages).toHaveLength(1);
    expect(call.result).toEqual(done.result);
  });

  it('ends, and the task with it, if the client cannot be asked', async () => {
    const inputRequests = { who: { method: 'elicitation/create', params: {} } };
    const script = taskServer(() => ({ status: 'input_required', inputRequests }));
    const { legacy, servers, clock } = newGateway({ a: script });
    const call = legacy().request('tools/call', { name: 'a__t' });
    await clock.advanceAsync(2_000);
    expect(call.answered.error).toMatchObject({ code: -32601 });
    expect(servers.a.heard('tasks/cancel')).toHaveLength(1);
  });

  describe('withdraws what it has asked the client', () => {
    /** The client of a call has been asked for the task that the call became. */
    async function asked() {
      const { legacy, servers, clock } = newGateway({ a: taskServer(() => asking) });
      const peer = legacy({ elicitation: {} });
      const call = peer.request('tools/call', { name: 'a__t' }, 'c');
      await clock.advanceAsync(600);
      const [request] = call.messages as { id: unknown }[];
      return { peer, call, servers, requestId: request?.id };
    }

    const withdrawal = (requestId: unknown) => ({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: expect.objectContaining({ requestId }),
    });

    it('when its caller gives up', async () => {
      const { peer, call, servers, requestId } = await asked();
      peer.note('notifications/cancelled', { requestId: 'c' });
      await settled();
      expect([...call.messages, ...peer.messages]).toContainEqual(withdrawal(requestId));
      expect(servers.a.heard('tasks/cancel')).toHaveLength(1);
    });

    it('when its server is lost', async () => {
      const { peer, call, servers, requestId } = await asked();
      servers.a.child.exit();
      await settled();
      expect([...call.messages, ...peer.messages]).toContainEqual(withdrawal(requestId));
      const fault = { code: 'outcome_unknown' };
      expect(call.result).toMatchObject({ _meta: { 'holdfast/fault': fault } });
    });
  });

  it.each([
    ['params that are no object', { who: { method: 'elicitation/create', params: 'x' } }],
    ['no method', { who: { params: {} } }],
    ['a notification', { who: { method: 'notifications/x' } }],
    ['a list of questions', []],
  ])('ends, and the task with it, if it asks with %s', async (_what, inputRequests) => {
    const script = taskServer(() => ({ status: 'input_required', inputRequests }));
    const { legacy, servers, clock } = newGateway({ a: script });
    const call = legacy({ elicitation: {} }).request('tools/call', { name: 'a__t' });
    await clock.advanceAsync(2_000);
    expect(call.messages).toEqual([]);
    expect(call.result).toMatchObject({
      _meta: { 'holdfast/fault': { code: 'protocol_violation', dispatched: 'yes' } },
    });
    expect(servers.a.heard('tasks/cancel')).toHaveLength(1);
  });

  it('is cancelled when its caller gives up', async () => {
    const { legacy, servers, clock } = newGateway({ a: taskServer(() => working) });
    const peer = legacy();
    const call = peer.request('tools/call', { name: 'a__t' }, 'c');
    await clock.advanceAsync(5_000);
    peer.note('notifications/cancelled', { requestId: 'c' });
    await clock.advanceAsync(5_000);
    expect(call.answers).toEqual([]);
    expect(servers.a.child.last('tasks/cancel').params).toMatchObject({ taskId: 'x-1' });
    const { length } = servers.a.heard('tasks/get');
    await clock.advanceAsync(5_000);
    expect(servers.a.heard('tasks/get')).toHaveLength(length);
  });

  it('is not sent again if its server ends between two questions about the task #never-twice', async () => {
    const { legacy, servers, clock } = newGateway({ a: taskServer(() => working) });
    const call = legacy().request('tools/call', { name: 'a__t' });
    await settled();
    servers.a.child.exit();
    await clock.advanceAsync(10_000);
    expect(servers.a.heard('tools/call')).toHaveLength(1);
    expect(call.result).toMatchObject({
      _meta: { 'holdfast/fault': { code: 'outcome_unknown', dispatched: 'yes', attempts: 1 } },
    });
  });

  it('is not sent again under its idempotency key after its time was over between two questions #never-twice', async () => {
    const config = { a: { callTimeoutMs: 1_000, maxCallMs: 10_200 } };
    const { host, servers, clock } = newHost({ a: taskServer(() => working) }, { config });
    const run = () => host.call('a', 't', {}, { idempotencyKey: 'k' }).catch((fault) => fault);
    const first = run();
    await clock.advanceAsync(20_000);
    expect((await first).record).toMatchObject({ code: 'timeout', dispatched: 'yes' });
    const second = run();
    await clock.advanceAsync(20_000);
    expect((await second).record.dispatched).not.toBe('no');
    expect(servers.a.heard('tools/call')).toHaveLength(1);
  });

  it('that we dismiss between two questions is not said to be unsent', async () => {
    const { legacy, gateway, clock } = newGateway({ a: taskServer(() => working) });
    const call = legacy().request('tools/call', { name: 'a__t' });
    await settled();
    const drained = gateway.drain(100);
    await clock.advanceAsync(200);
    await drained;
    expect(call.result).toMatchObject({
      _meta: { 'holdfast/fault': { code: 'outcome_unknown', dispatched: 'yes' } },
    });
  });

  it('keeps its server until the result was fetched', async () => {
    let state: object = working;
    const script = taskServer(() => state);
    const config = { a: { keepAliveMs: 1_000 } };
    const { modern, servers, clock } = newGateway({ a: script }, { config });
    const peer = modern(declaring);
    const call = peer.call('a__t');
    await clock.advanceAsync(20_000);
    expect(servers.a.child.isGone).toBe(false);
    state = done;
    peer.request('tasks/get', { taskId: call.result['taskId'] });
    await clock.advanceAsync(20_000);
    expect(servers.a.child.isGone).toBe(true);
  });
});

/** Each process numbers its tasks from one, and says whose result it gives. */
function carelessServer(): Script {
  const legacyOnes = new Set<ScriptedChild>();
  const processes: ScriptedChild[] = [];
  const capabilities = {
    tools: {},
    tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
    extensions: { [extension]: {} },
  };
  const serverInfo = { name: 's', version: '1' };
  const task = { taskId: 'task-1', status: 'working', ...times };
  return {
    era: 'both',
    capabilities,
    tools: [tool('t', { execution: { taskSupport: 'optional' } })],
    on: {
      initialize: (_heard, child) => {
        legacyOnes.add(child);
        return { protocolVersion: '2025-11-25', capabilities, serverInfo };
      },
      'tools/call': (_heard, child) => {
        processes.push(child);
        return legacyOnes.has(child) ? { task } : { resultType: 'task', ...task };
      },
      'tasks/get': (_heard, child) => ({
        resultType: 'complete',
        taskId: 'task-1',
        ...times,
        status: 'completed',
        result: { content: [], process: processes.indexOf(child) },
      }),
    },
  };
}

describe('a modern task with the id of another process’s task', () => {
  it('is asked for where it was begun, not where a legacy client began its own #tasks', async () => {
    const { legacy, modern, clock, host } = newGateway({ a: carelessServer() });
    const session = legacy();
    const first = session.request('tools/call', { name: 'a__t', task: { ttl: 60_000 } });
    await clock.advanceAsync(1_000);
    expect(first.result).toHaveProperty('task');
    const peer = modern(declaring);
    const call = peer.call('a__t');
    await clock.advanceAsync(1_000);
    const get = peer.request('tasks/get', { taskId: call.result['taskId'] });
    await settled();
    expect(get.result).toMatchObject({ status: 'completed', result: { process: 1 } });
    expect(host.tasks.get(1)).toMatchObject({ era: 'legacy', isOver: false });
  });

  it('is asked for, and told of, where its own principal began it #tasks', async () => {
    const config = { a: { isolation: 'client' } };
    const script = { ...carelessServer(), era: 'modern' as const };
    const { modern, clock, servers, host } = newGateway({ a: script }, { config });
    host.setGuard(() => ({ allow: true }));
    const peers = ['x', 'y'].map((key) =>
      modern(declaring, { principal: { id: `token:${key}`, role: null }, key }),
    );
    const handles: unknown[] = [];
    for (const peer of peers) {
      const call = peer.call('a__t');
      await clock.advanceAsync(1_000);
      handles.push(call.result['taskId']);
    }
    const listening = peers.map((peer, at) =>
      peer.request('subscriptions/listen', { notifications: { taskIds: [handles[at]] } }),
    );
    await settled();
    const used = servers.a.children.filter((child) => child.heardAs('tools/call').length > 0);
    expect(used).toHaveLength(2);
    used[1]?.note('notifications/tasks', { taskId: 'task-1', ...times, status: 'working' });
    await settled();
    expect(listening.map(({ messages }) => messages.length)).toEqual([1, 2]);
    const gets = peers.map((peer, at) => peer.request('tasks/get', { taskId: handles[at] }));
    await settled();
    expect(gets.map(({ result }) => result['result'])).toMatchObject([
      { process: 0 },
      { process: 1 },
    ]);
  });
});

describe('what becomes of a modern task', () => {
  it('is sent to subscribers that may see it, with their handle and mark', async () => {
    const { modern, servers } = newGateway({ a: taskServer(() => working) });
    const peer = modern(declaring);
    const call = peer.call('a__t');
    await settled();
    const { taskId } = call.result as { taskId: string };
    const other = modern(declaring, { principal: { id: 'token:x', role: null }, key: 'x' });
    const listening = peer.request('subscriptions/listen', {
      notifications: { taskIds: [taskId, 'made-up'] },
    });
    const stranger = other.request('subscriptions/listen', {
      notifications: { taskIds: [taskId] },
    });
    await settled();
    const acknowledged = (reply: typeof listening) =>
      (reply.messages[0] as { params: { notifications: unknown } }).params.notifications;
    expect(acknowledged(listening)).toEqual({ taskIds: [taskId] });
    expect(acknowledged(stranger)).toEqual({});
    const { child } = servers.a;
    expect(child.last('subscriptions/listen').params).toMatchObject({
      notifications: { taskIds: ['x-1'] },
      _meta: { 'io.modelcontextprotocol/clientCapabilities': declaring },
    });
    const mark = {
      'io.modelcontextprotocol/subscriptionId': child.last('subscriptions/listen').id,
    };
    child.note('notifications/tasks', { taskId: 'x-1', ...times, ...done, _meta: mark });
    await settled();
    expect(listening.messages[1]).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/tasks',
      params: {
        taskId,
        ...times,
        ...done,
        // The id of the listen request itself.
        _meta: { 'io.modelcontextprotocol/subscriptionId': 2 },
      },
    });
    expect(stranger.messages).toHaveLength(1);
    listening.underway?.cancel();
    await settled();
    expect(child.heardAs('notifications/cancelled')).toHaveLength(1);
  });

  it('is not sent to a client that subscribes to more tasks than allowed', async () => {
    const { modern } = newGateway({ a: taskServer(() => working) });
    const taskIds = Array.from({ length: 1_001 }, (_, at) => `made-up-${at}`);
    const listening = modern(declaring).request('subscriptions/listen', {
      notifications: { taskIds },
    });
    await settled();
    expect(listening.answered.error).toMatchObject({ data: { code: 'overloaded' } });
  });

  it('is not sent to a client that did not declare the extension', async () => {
    const { modern } = newGateway({ a: taskServer(() => working) });
    const listening = modern().request('subscriptions/listen', {
      notifications: { taskIds: ['x'] },
    });
    await settled();
    expect(listening.answered.error).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: declaring },
    });
  });

  it('is listened for where it was begun, when its principal has begun tasks in two places #tasks', async () => {
    const config = { a: { isolation: 'client' } };
    const begins = (_heard: Heard, child: ScriptedChild) => {
      return { resultType: 'task', taskId: `task-${child.pid}`, status: 'working', ...times };
    };
    const careless = carelessServer();
    const script: Script = {
      ...careless,
      era: 'modern',
      on: { ...careless.on, 'tools/call': begins },
    };
    const { modern, clock, servers, host } = newGateway({ a: script }, { config });
    host.setGuard(() => ({ allow: true }));
    const principal = { id: 'token:x', role: null };
    const peers = ['x', 'y'].map((key) => modern(declaring, { principal, key }));
    const handles: unknown[] = [];
    for (const peer of peers) {
      const call = peer.call('a__t');
      await clock.advanceAsync(1_000);
      handles.push(call.result['taskId']);
    }
    const wishes = { notifications: { taskIds: handles } };
    const listening = peers[0]?.request('subscriptions/listen', wishes);
    await settled();
    const used = servers.a.children.filter((child) => child.heardAs('tools/call').length > 0);
    expect(used).toHaveLength(2);
    for (const child of used) {
      const wished = { taskIds: [`task-${child.pid}`] };
      expect(child.last('subscriptions/listen').params['notifications']).toEqual(wished);
      child.note('notifications/tasks', { taskId: wished.taskIds[0], ...times, status: 'working' });
    }
    await settled();
    const told = listening?.messages.slice(1).map(({ params }) => params);
    expect(told).toMatchObject(handles.map((taskId) => ({ taskId })));
  });
});

describe('the tasks of modern clients', () => {
  const many = (): Script => {
    let count = 0;
    const begin = () => ({
      resultType: 'task',
      taskId: `x-${++count}`,
      status: 'working',
      ...times,
      ttlMs: null,
    });
    return {
      era: 'modern',
      capabilities: { tools: {}, extensions: { [extension]: {} } },
      tools: [tool('t')],
      on: { 'tools/call': begin, 'tasks/get': () => ({ ...begin(), resultType: 'complete' }) },
    };
  };

  it('are bounded for each client: the oldest is forgotten here, and can still be asked for', async () => {
    const { modern, host, servers } = newGateway({ a: many() });
    const peer = modern(declaring);
    const [first] = Array.from({ length: 300 }, () => peer.call('a__t'));
    await settled();
    const kept = host.tasks.ofClient('modern');
    expect(kept).toHaveLength(256);
    expect(kept.map(({ taskId }) => taskId)).not.toContain('x-1');
    const asked = peer.request('tasks/get', { taskId: first?.result['taskId'] });
    await settled();
    expect(servers.a.heard('tasks/get')[0]?.params).toMatchObject({ taskId: 'x-1' });
    expect(asked.answers).toHaveLength(1);
  });

  it('are bounded for each owner on all its paths #principal-share', async () => {
    const roles = { a: { allow: ['a/*'] }, b: { allow: ['a/*'] } };
    const { modern, host } = newGateway({ a: many() }, { settings: { roles } });
    const paths = ['a', 'b'].map((name) =>
      cutBy({ id: 'token:owner', role: 'a' }, { kind: 'role', name }),
    );
    for (const principal of paths) {
      const peer = modern(declaring, { principal, key: principal.id });
      for (let count = 0; count < 200; count++) peer.call('a__t');
      await settled();
    }
    expect(paths.map(({ id }) => host.tasks.ofClient(id).length)).toEqual([56, 200]);
  });
});

describe('a server that is listened to for tasks', () => {
  const script = (listen: () => unknown): Script => ({
    ...taskServer(() => done),
    on: { ...taskServer(() => done).on, 'subscriptions/listen': listen },
  });

  it.each([
    ['ends the listening', () => ({ resultType: 'complete' }), () => {}],
    ['is lost', () => undefined, (child: ScriptedChild) => child.exit()],
  ])('is not kept for it any longer when it %s', async (_how, listen, end) => {
    const { modern, clock, servers, host } = newGateway({ a: script(listen) });
    const peer = modern(declaring);
    const call = peer.call('a__t');
    await settled();
    const { taskId } = call.result;
    peer.request('tasks/get', { taskId });
    await settled();
    peer.request('subscriptions/listen', { notifications: { taskIds: [taskId] } });
    await settled();
    expect(servers.a.heard('subscriptions/listen')).toHaveLength(1);
    end(servers.a.child);
    await clock.advanceAsync(4 * 3_600_000);
    const held = [...host.find('a').slots.all()].filter(
      ({ supervisor }) => supervisor.leases.isWanted,
    );
    expect(held).toEqual([]);
    expect(servers.a.children.filter(({ isGone }) => !isGone)).toEqual([]);
  });
});
