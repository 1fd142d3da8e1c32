import { describe, expect, it } from 'vitest';
import { type LegacyPeer, newGateway, settled } from '../../../test/support/fake-gateway.ts';
import {
  ErrorAnswer,
  type Heard,
  type Script,
  type ScriptedChild,
  text,
  tool,
} from '../../../test/support/scripted-server.ts';
import { localUser } from '../../policy/principal.ts';

const times = {
  createdAt: '2025-11-25T10:30:00Z',
  lastUpdatedAt: '2025-11-25T10:30:00Z',
  ttl: 60_000,
  pollInterval: 500,
};
const declared = { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };
const related = 'io.modelcontextprotocol/related-task';

/** Each process numbers its tasks from one, as careless servers do; results wait for the test. */
function taskServer(): Script & { readonly states: Map<string, string> } {
  const states = new Map<string, string>();
  const mine = new WeakMap<ScriptedChild, Set<string>>();
  const known = (heard: Heard, child: ScriptedChild, answer: (id: string) => unknown) => {
    const taskId = String(heard.params['taskId']);
    return mine.get(child)?.has(taskId)
      ? answer(taskId)
      : new ErrorAnswer({ code: -32602, message: 'no such task' });
  };
  const task = (taskId: string) => ({ taskId, status: states.get(taskId) ?? 'working', ...times });
  return {
    states,
    capabilities: declared,
    tools: [
      tool('work', { execution: { taskSupport: 'optional' } }),
      tool('only', { execution: { taskSupport: 'required' } }),
    ],
    on: {
      'tools/call': ({ params }, child) => {
        if (params['task'] === undefined) {
          return params['name'] === 'only'
            ? new ErrorAnswer({ code: -32601, message: 'a task is required' })
            : text('at once');
        }
        const own = mine.get(child) ?? new Set();
        mine.set(child, own);
        const taskId = `task-${own.size + 1}`;
        own.add(taskId);
        return { task: task(taskId), _meta: { kept: true } };
      },
      'tasks/get': (heard, child) => known(heard, child, task),
      'tasks/result': (heard, child) => known(heard, child, () => undefined),
      'tasks/cancel': (heard, child) =>
        known(heard, child, (id) => {
          states.set(id, 'cancelled');
          return task(id);
        }),
    },
  };
}

async function begun(peer: LegacyPeer, name = 'a__work', more: object = {}): Promise<string> {
  const call = peer.request('tools/call', { name, task: { ttl: 60_000 }, ...more });
  await settled();
  const { task } = call.result as { task: { taskId: string } };
  return task.taskId;
}

describe('a task of 2025-11-25', () => {
  it('has a handle of the gateway’s, under which its client asks for it', async () => {
    const script = taskServer();
    const { legacy, servers } = newGateway({ a: script });
    const peer = legacy();
    const call = peer.request('tools/call', { name: 'a__work', task: { ttl: 60_000 } });
    await settled();
    const { task, _meta } = call.result as { task: { taskId: string }; _meta: object };
    expect(task).toEqual({ ...times, taskId: expect.any(String), status: 'working' });
    expect(task.taskId).not.toBe('task-1');
    expect(_meta).toEqual({ kept: true });
    expect(servers.a.child.last('tools/call').params).toMatchObject({ task: { ttl: 60_000 } });
    const get = peer.request('tasks/get', { taskId: task.taskId });
    await settled();
    expect(get.result).toEqual({ ...times, taskId: task.taskId, status: 'working' });
    expect(servers.a.child.last('tasks/get').params['taskId']).toBe('task-1');
    const cancel = peer.request('tasks/cancel', { taskId: task.taskId });
    await settled();
    expect(cancel.result).toMatchObject({ taskId: task.taskId, status: 'cancelled' });
  });

  it('is waited for longer than a call may take, and its result says whose it is', async () => {
    const { legacy, servers, clock } = newGateway({ a: taskServer() });
    const peer = legacy();
    const taskId = await begun(peer);
    const waiting = peer.request('tasks/result', { taskId });
    await settled();
    clock.advance(100_000);
    await settled();
    expect(waiting.answers).toEqual([]);
    const { child } = servers.a;
    const result = `{"content":[],"n":1.0,"_meta":{"x":1,"${related}":{"taskId":"task-1"}}}`;
    child.answer(child.last('tasks/result'), result);
    await settled();
    expect(waiting.answers).toEqual([
      `{"jsonrpc":"2.0","id":3,"result":${result.replace('task-1', taskId)}}`,
    ]);
  });

  it('whose result does not name its task gets the name added', async () => {
    const { legacy, servers } = newGateway({ a: taskServer() });
    const peer = legacy();
    const taskId = await begun(peer);
    for (const [said, meta] of [
      ['{"content":[]}', {}],
      ['{"content":[],"_meta":{}}', {}],
      ['{"content":[],"_meta":{"x":1}}', { x: 1 }],
    ] as const) {
      const waiting = peer.request('tasks/result', { taskId });
      await settled();
      const { child } = servers.a;
      child.answer(child.last('tasks/result'), said);
      await settled();
      expect(waiting.result).toEqual({ content: [], _meta: { [related]: { taskId }, ...meta } });
    }
  });

  it('ends in the error of its call, as the server gives it', async () => {
    const { legacy, servers } = newGateway({ a: taskServer() });
    const peer = legacy();
    const waiting = peer.request('tasks/result', { taskId: await begun(peer) });
    await settled();
    const { child } = servers.a;
    const error = { code: -32099, message: 'failed', data: { n: 1 } };
    child.answer(child.last('tasks/result'), new ErrorAnswer(error));
    await settled();
    expect(waiting.answered.error).toEqual(error);
  });

  it('goes on when its client stops waiting: only the waiting is cancelled', async () => {
    const { legacy, servers } = newGateway({ a: taskServer() });
    const peer = legacy();
    const taskId = await begun(peer);
    const waiting = peer.request('tasks/result', { taskId }, 'wait');
    await settled();
    peer.note('notifications/cancelled', { requestId: 'wait' });
    await settled();
    const { child } = servers.a;
    expect(waiting.answers).toEqual([]);
    expect(child.last('notifications/cancelled').params['requestId']).toBe(
      child.last('tasks/result').id,
    );
    expect(child.heardAs('tasks/cancel')).toEqual([]);
    const get = peer.request('tasks/get', { taskId });
    await settled();
    expect(get.result).toMatchObject({ taskId, status: 'working' });
  });

  it('is nothing to another session, another person, or a modern client', async () => {
    const script = taskServer();
    const { legacy, modern, servers } = newGateway({ a: script });
    const taskId = await begun(legacy());
    const strangers = [
      legacy(),
      legacy({}, { id: 'token:x', role: null }),
      modern({ extensions: { 'io.modelcontextprotocol/tasks': {} } }),
    ];
    for (const stranger of strangers) {
      for (const method of ['tasks/get', 'tasks/cancel']) {
        const reply = stranger.request(method, { taskId });
        await settled();
        expect(reply.answered.error?.code).toBe(-32602);
      }
    }
    const list = (strangers[0] as LegacyPeer).request('tasks/list');
    await settled();
    expect(list.result).toEqual({ tasks: [] });
    expect(servers.a.heard('tasks/get')).toEqual([]);
    expect(servers.a.heard('tasks/cancel')).toEqual([]);
  });

  it('lives on the connection that began it: two with the same id do not meet', async () => {
    const { legacy, servers } = newGateway(
      { a: taskServer() },
      { config: { a: { isolation: 'client' } } },
    );
    const [one, two] = [legacy(), legacy()];
    const handles = [await begun(one), await begun(two)];
    expect(new Set(handles).size).toBe(2);
    const used = servers.a.children.filter((child) => child.heardAs('tools/call').length > 0);
    const [first, second] = used as [ScriptedChild, ScriptedChild];
    expect(first).not.toBe(second);
    const waiting = [one, two].map((peer, at) =>
      peer.request('tasks/result', { taskId: handles[at] }),
    );
    await settled();
    second.answer(second.last('tasks/result'), text('of two'));
    first.answer(first.last('tasks/result'), text('of one'));
    await settled();
    expect(waiting.map(({ result }) => result['content'])).toMatchObject([
      [{ text: 'of one' }],
      [{ text: 'of two' }],
    ]);
  });

  it('is lost with its connection: a typed fault, and nothing is sent to another process', async () => {
    const { legacy, servers, clock } = newGateway({ a: taskServer() });
    const peer = legacy();
    const taskId = await begun(peer);
    const waiting = peer.request('tasks/result', { taskId });
    await settled();
    servers.a.child.exit();
    await clock.advanceAsync(10_000);
    const lost = { code: 'outcome_unknown', server: 'a' };
    expect(waiting.answered.error).toMatchObject({ code: -32603, data: lost });
    // It comes back, and numbers its tasks from one again.
    const next = await begun(peer);
    expect(servers.a.children).toHaveLength(2);
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
      const reply = peer.request(method, { taskId });
      await settled();
      expect(reply.answered.error).toMatchObject({
        code: -32603,
        data: { ...lost, tool: 'work', dispatched: 'yes' },
      });
      expect(servers.a.child.heardAs(method)).toEqual([]);
    }
    const list = peer.request('tasks/list');
    await settled();
    expect(list.result).toMatchObject({ tasks: [{ taskId: next }] });
  });

  it('keeps its server, which would be stopped as idle, until its result was fetched', async () => {
    const { legacy, servers, clock } = newGateway(
      { a: taskServer() },
      { config: { a: { keepAliveMs: 1_000 } } },
    );
    const peer = legacy();
    const taskId = await begun(peer);
    await clock.advanceAsync(30_000);
    expect(servers.a.child.isGone).toBe(false);
    const waiting = peer.request('tasks/result', { taskId });
    await settled();
    const { child } = servers.a;
    child.answer(child.last('tasks/result'), text('done'));
    await settled();
    expect(waiting.result).toMatchObject(text('done'));
    await clock.advanceAsync(30_000);
    expect(servers.a.child.isGone).toBe(true);
  });

  it('is forgotten, and its server let go, when its time is over', async () => {
    const { legacy, servers, clock } = newGateway(
      { a: taskServer() },
      { config: { a: { keepAliveMs: 1_000 } } },
    );
    const peer = legacy();
    const taskId = await begun(peer);
    await clock.advanceAsync(150_000);
    expect(servers.a.child.isGone).toBe(true);
    const get = peer.request('tasks/get', { taskId });
    await settled();
    expect(get.answered.error?.code).toBe(-32602);
  });

  it('is cancelled at its server when its session ends: nobody could ask for it', async () => {
    const { legacy, servers } = newGateway({ a: taskServer() });
    const peer = legacy();
    await begun(peer);
    peer.session.close();
    await settled();
    expect(servers.a.child.last('tasks/cancel').params).toEqual({ taskId: 'task-1' });
  });

  it('is cancelled with a deadline: a server that never answers that keeps nothing open', async () => {
    const script = taskServer();
    const on = { ...script.on, 'tasks/cancel': () => undefined };
    const { legacy, servers, clock } = newGateway({ a: { ...script, on } });
    const peer = legacy();
    await begun(peer);
    peer.session.close();
    await clock.advanceAsync(60_000);
    const { child } = servers.a;
    expect(child.heardAs('notifications/cancelled')).toMatchObject([
      { params: { requestId: child.last('tasks/cancel').id } },
    ]);
  });

  it('can be waited for after requests for its result that were refused', async () => {
    const { legacy, servers } = newGateway({ a: taskServer() });
    const peer = legacy();
    const taskId = await begun(peer);
    for (let count = 0; count < 20; count += 1) {
      const refused = peer.request('tasks/result', { taskId, requestState: 'made-up' });
      await settled();
      expect(refused.answered.error).toMatchObject({ code: -32602 });
    }
    peer.request('tasks/result', { taskId });
    await settled();
    expect(servers.a.heard('tasks/result')).toHaveLength(1);
  });

  it('says nothing about the health of its server while it is waited for', async () => {
    const config = { a: { circuit: { threshold: 1 }, concurrency: 1, queue: 0 } };
    const { legacy, servers, clock, host } = newGateway({ a: taskServer() }, { config });
    const peer = legacy();
    const taskId = await begun(peer);
    const waiting = [1, 2, 3].map(() => peer.request('tasks/result', { taskId }));
    await settled();
    // It takes no place among the calls of the server.
    const call = peer.request('tools/call', { name: 'a__work' });
    await settled();
    expect(call.result).toMatchObject(text('at once'));
    await clock.advanceAsync(130_000);
    for (const { answered } of waiting) expect(answered.error).toMatchObject({ code: -32603 });
    expect(host.status().servers).toMatchObject([{ circuit: 'closed', consecutiveFailures: 0 }]);
    expect(servers.a.children).toHaveLength(1);
  });
});

describe('the list of tasks', () => {
  it('holds the client’s own of all servers, as they are now, page by page', async () => {
    const a = taskServer();
    const { legacy } = newGateway({ a, b: taskServer() });
    const [peer, other] = [legacy(), legacy()];
    const handles: string[] = [];
    for (let at = 0; at < 60; at++) {
      handles.push(await begun(peer, at % 2 === 0 ? 'a__work' : 'b__work'));
    }
    await begun(other);
    a.states.set('task-2', 'completed');
    const first = peer.request('tasks/list');
    await settled();
    await settled();
    const { tasks, nextCursor } = first.result as { tasks: object[]; nextCursor: string };
    expect(tasks).toHaveLength(50);
    expect(tasks[2]).toEqual({ ...times, taskId: handles[2], status: 'completed' });
    const second = peer.request('tasks/list', { cursor: nextCursor });
    await settled();
    const rest = second.result as { tasks: { taskId: string }[] };
    expect(rest.tasks.map(({ taskId }) => taskId)).toEqual(handles.slice(50));
    expect('nextCursor' in rest).toBe(false);
    for (const cursor of ['made up', nextCursor]) {
      const refused = other.request('tasks/list', { cursor });
      await settled();
      expect(refused.answered.error?.code).toBe(-32602);
    }
  });

  it('leaves out what a server no longer knows', async () => {
    const script = taskServer();
    const on = { ...script.on, 'tasks/get': () => new ErrorAnswer({ code: -32602, message: '' }) };
    const { legacy } = newGateway({ a: { ...script, on } });
    const peer = legacy();
    await begun(peer);
    const list = peer.request('tasks/list');
    await settled();
    expect(list.result).toEqual({ tasks: [] });
  });
});

describe('what a server says of a task', () => {
  it('is heard by its owner alone, under its own handle and token', async () => {
    const { legacy, servers } = newGateway({ a: taskServer() });
    const [peer, other] = [legacy(), legacy()];
    const taskId = await begun(peer, 'a__work', { _meta: { progressToken: 'mine' } });
    await begun(other);
    const { child } = servers.a;
    const token = child.heardAs('tools/call')[0]?.id;
    child.note('notifications/tasks/status', { taskId: 'task-1', status: 'working', ...times });
    child.note('notifications/progress', { progressToken: token, progress: 1 });
    child.note('notifications/tasks/status', { taskId: 'task-9', status: 'working', ...times });
    await settled();
    expect(peer.messages).toEqual([
      {
        jsonrpc: '2.0',
        method: 'notifications/tasks/status',
        params: { taskId, status: 'working', ...times },
      },
      {
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken: 'mine', progress: 1 },
      },
    ]);
    expect(other.messages).toEqual([]);
  });

  it('is not heard by an owner that may not use its tool any more #policy-at-once', async () => {
    const roles = { worker: { allow: ['a/*'] } };
    const { legacy, servers, host, config, clock } = newGateway(
      { a: taskServer() },
      { settings: { roles } },
    );
    const peer = legacy({}, { id: 'token:w', role: 'worker' });
    await begun(peer);
    const heard = async () => {
      const { child } = servers.a;
      child.note('notifications/tasks/status', { taskId: 'task-1', status: 'working', ...times });
      await clock.advanceAsync(100);
      return peer.messages.filter(({ method }) => method === 'notifications/tasks/status').length;
    };
    expect(await heard()).toBe(1);
    const { mcpServers } = config;
    await host.apply({ mcpServers, roles: { worker: { allow: ['a/only'] } }, hostTools: false });
    expect(await heard()).toBe(1);
  });

  it('is asked of its owner, though others use the same connection', async () => {
    const { legacy, servers } = newGateway({ a: taskServer() });
    const [peer, other] = [legacy({ elicitation: {} }), legacy({ elicitation: {} })];
    const taskId = await begun(peer);
    await begun(other);
    const waiting = peer.request('tasks/result', { taskId });
    await settled();
    const { child } = servers.a;
    child.ask('q', 'elicitation/create', {
      message: 'who?',
      task: { ttl: 5 },
      _meta: { [related]: { taskId: 'task-1' } },
    });
    await settled();
    expect(waiting.messages).toMatchObject([
      { method: 'elicitation/create', params: { _meta: { [related]: { taskId } } } },
    ]);
    // The client runs no tasks of its own for us: it answers at once.
    expect(waiting.sent[0]).not.toContain('"task"');
    expect(other.messages).toEqual([]);
    const { id } = waiting.messages[0] as { id: number };
    peer.answer(id, { action: 'accept', content: {}, _meta: { [related]: { taskId } } });
    await settled();
    expect(child.answerTo('q').result).toEqual({
      action: 'accept',
      content: {},
      _meta: { [related]: { taskId: 'task-1' } },
    });
    expect(servers.a.children).toHaveLength(1);
  });

  it('cannot be a question about tasks of the client: it has none', async () => {
    const { legacy, servers } = newGateway({ a: taskServer() });
    const peer = legacy({ tasks: { list: {} } });
    await begun(peer);
    servers.a.child.ask('q', 'tasks/get', { taskId: 'x' });
    await settled();
    expect(servers.a.child.answerTo('q').error).toMatchObject({ code: -32601 });
    expect(peer.messages).toEqual([]);
  });
});

describe('tasks between the eras', () => {
  it('are declared to legacy clients as soon as a server is known to have them', async () => {
    const { legacy, gateway } = newGateway({ a: taskServer(), b: {} });
    const greeting = async (peer: LegacyPeer) => {
      const params = { protocolVersion: '2025-11-25', capabilities: {} };
      const greeted = peer.request('initialize', params);
      await settled();
      return greeted.result['capabilities'];
    };
    expect(await greeting(legacy())).not.toHaveProperty('tasks');
    legacy().request('tools/list');
    await settled();
    await settled();
    expect(await greeting(legacy())).toMatchObject({ tasks: declared.tasks });
    expect(gateway.isAccepting).toBe(true);
  });

  it('are declared before their server is started, if an earlier run has met it', async () => {
    const earlier = newGateway({ a: taskServer() });
    earlier.legacy().request('tools/list');
    await settled();
    await settled();
    const { legacy, servers } = newGateway({ a: taskServer() }, { store: earlier.store });
    const peer = legacy();
    const greeted = peer.request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
    });
    await settled();
    expect(greeted.result['capabilities']).toMatchObject({ tasks: declared.tasks });
    expect(servers.a.children).toEqual([]);
  });

  it('are followed for a program that uses the library', async () => {
    const { host, servers } = newGateway({ a: taskServer() });
    const call = host.call('a', 'only', { n: 1 });
    await settled();
    const { child } = servers.a;
    child.answer(child.last('tasks/result'), text('done'));
    expect(await call).toEqual(text('done'));
    expect(child.last('tools/call').params).toMatchObject({ arguments: { n: 1 }, task: {} });
  });

  it('that are begun twice under one idempotency key are one, with one handle', async () => {
    const { legacy, servers } = newGateway({ a: taskServer() });
    const peer = legacy();
    const key = { _meta: { 'holdfast/idempotencyKey': 'k' } };
    const handles = [await begun(peer, 'a__work', key), await begun(peer, 'a__work', key)];
    expect(handles[0]).toBe(handles[1]);
    expect(servers.a.heard('tools/call')).toHaveLength(1);
    // Another session of the same person cannot have it, and is told so.
    const other = legacy().request('tools/call', {
      name: 'a__work',
      task: { ttl: 60_000 },
      ...key,
    });
    await settled();
    expect(other.answered.error).toMatchObject({ data: { code: 'outcome_unknown' } });
  });

  it('are listed as the gateway can carry them', async () => {
    const script = taskServer();
    const { legacy, modern } = newGateway({ a: script, b: { ...script, capabilities: {} } });
    const [old, young] = [legacy().request('tools/list'), modern().request('tools/list')];
    await settled();
    await settled();
    const support = (reply: typeof old) =>
      (reply.result['tools'] as { name: string; execution?: object }[]).map(
        ({ name, execution }) => [name, execution],
      );
    expect(support(old)).toEqual([
      ['a__work', { taskSupport: 'optional' }],
      ['a__only', { taskSupport: 'optional' }],
      ['b__work', { taskSupport: 'forbidden' }],
      ['b__only', { taskSupport: 'forbidden' }],
    ]);
    expect(support(young).map(([, execution]) => execution)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it.each(['legacy', 'modern'] as const)(
    'are followed for a %s client that calls a tool which its server runs only as a task',
    async (era) => {
      const { legacy, modern, servers, clock } = newGateway({ a: taskServer() });
      const peer = era === 'legacy' ? legacy() : modern();
      const call = peer.request('tools/call', { name: 'a__only', arguments: { n: 1 } });
      await settled();
      const { child } = servers.a;
      expect(child.heardAs('tools/call')).toHaveLength(1);
      expect(child.last('tools/call').params).toMatchObject({
        name: 'only',
        arguments: { n: 1 },
        task: {},
      });
      // Longer than an ordinary call may take: it is accepted work.
      await clock.advanceAsync(100_000);
      const meta = `"_meta":{"x":1,"${related}":{"taskId":"task-1"}}`;
      child.answer(child.last('tasks/result'), `{"content":[],"n":1.0,${meta}}`);
      await settled();
      expect(call.result).toEqual({
        content: [],
        n: 1,
        _meta: { x: 1 },
        ...(era === 'modern' ? { resultType: 'complete' } : {}),
      });
      expect(child.heardAs('tools/call')).toHaveLength(1);
    },
  );

  it('are cancelled when the caller for whom they are followed gives up, or its time is over', async () => {
    const { legacy, servers, clock } = newGateway({ a: taskServer() });
    const peer = legacy();
    peer.request('tools/call', { name: 'a__only' }, 'first');
    await settled();
    peer.note('notifications/cancelled', { requestId: 'first' });
    await settled();
    const { child } = servers.a;
    expect(child.last('tasks/cancel').params).toMatchObject({ taskId: 'task-1' });
    const late = peer.request('tools/call', { name: 'a__only' });
    await clock.advanceAsync(700_000);
    expect(late.result).toMatchObject({ _meta: { 'holdfast/fault': { code: 'timeout' } } });
    expect(child.last('tasks/cancel').params).toMatchObject({ taskId: 'task-2' });
  });

  it('that are lost while they are followed end in an unknown outcome, and are not begun again', async () => {
    const { legacy, servers, clock } = newGateway({ a: taskServer() });
    const call = legacy().request('tools/call', { name: 'a__only' });
    await settled();
    servers.a.child.exit();
    await clock.advanceAsync(60_000);
    expect(call.result).toMatchObject({ _meta: { 'holdfast/fault': { code: 'outcome_unknown' } } });
    expect(servers.a.heard('tools/call')).toHaveLength(1);
  });

  it('are followed for a client that did not ask for the one it gets', async () => {
    const script = taskServer();
    const unasked = { task: { taskId: 'task-1', status: 'working', ...times } };
    const on = {
      'tools/call': () => unasked,
      'tasks/result': () => text('the result'),
    };
    const { legacy, modern } = newGateway({ a: { ...script, on } });
    for (const peer of [legacy(), modern()]) {
      const call = peer.request('tools/call', { name: 'a__work' });
      await settled();
      expect(call.result).toMatchObject(text('the result'));
    }
  });

  it('cannot be wished for by a modern client: the wish does not reach a legacy server', async () => {
    const { modern, servers } = newGateway({ a: taskServer() });
    const call = modern().call('a__work', {}, { task: { ttl: 5 } });
    await settled();
    expect(call.result).toEqual({ ...text('at once'), resultType: 'complete' });
    expect(servers.a.child.last('tools/call').params).not.toHaveProperty('task');
  });

  it('cannot be wished for of a modern server: the tool has no such method', async () => {
    const { legacy, servers } = newGateway({ a: { era: 'modern', tools: [tool('t')] } });
    const call = legacy().request('tools/call', { name: 'a__t', task: {} });
    await settled();
    expect(call.answered.error).toMatchObject({ code: -32601, data: { code: 'invalid_request' } });
    expect(servers.a.heard('tools/call')).toEqual([]);
  });

  it('end in an error for a client that asked for one, not in the result of a tool', async () => {
    const script = taskServer();
    const { legacy, servers } = newGateway({
      a: { ...script, on: { ...script.on, 'tools/call': () => undefined } },
    });
    const call = legacy().request('tools/call', { name: 'a__work', task: {} });
    await settled();
    servers.a.child.exit();
    await settled();
    expect(call.answered.error).toMatchObject({ code: -32603, data: { code: 'outcome_unknown' } });
  });

  it('are bounded for each client', async () => {
    const { legacy, servers } = newGateway({ a: taskServer() });
    const [peer, other] = [legacy(), legacy()];
    for (let at = 0; at < 256; at++) await begun(peer);
    const call = peer.request('tools/call', { name: 'a__work', task: {} });
    await settled();
    expect(call.answered.error).toMatchObject({ data: { code: 'overloaded', dispatched: 'no' } });
    expect(servers.a.heard('tools/call')).toHaveLength(256);
    await begun(other);
    // What is over makes room.
    const list = peer.request('tasks/list');
    await settled();
    const [oldest] = (list.result as { tasks: { taskId: string }[] }).tasks;
    peer.request('tasks/cancel', { taskId: oldest?.taskId });
    await settled();
    await begun(peer);
  });

  it('are not shared by callers, nor answered from memory', async () => {
    const script = taskServer();
    const config = { a: { tools: { work: { cacheMs: 60_000 } } } };
    const { legacy } = newGateway({ a: script }, { config });
    const peer = legacy({}, localUser);
    const plain = peer.request('tools/call', { name: 'a__work' });
    await settled();
    expect(plain.result).toMatchObject(text('at once'));
    const handles = [await begun(peer), await begun(peer)];
    expect(new Set(handles).size).toBe(2);
  });
});
