import { describe, expect, it } from 'vitest';
import { frameText, newGateway, settled } from '../../../test/support/fake-gateway.ts';
import { nextHost } from '../../../test/support/next-host.ts';
import { type Script, text, tool } from '../../../test/support/scripted-server.ts';
import { localUser, type Principal } from '../../policy/principal.ts';
import type { Frame } from '../../wire/frames.ts';
import type { Message } from '../../wire/scan.ts';
import { toolCall } from '../call/operation.ts';
import type { Caller, Client, ClientAnswer, Question } from '../connections/caller.ts';

class PlayedClient implements Client {
  readonly key: string;
  readonly isAskedInCalls = false;
  readonly asked: Question[] = [];
  readonly told: Message[] = [];

  constructor(key: string) {
    this.key = key;
  }

  hasRoots(): boolean {
    return false;
  }

  ask(question: Question): Promise<ClientAnswer> {
    this.asked.push(question);
    return Promise.resolve({ kind: 'result', json: `{"by":"${this.key}"}` });
  }

  tell(_server: string, message: Message): void {
    this.told.push(message);
  }
}

const asking = '{"elicitation":{}}';

function callOf(client: Client, name: string, principal: Principal = localUser) {
  const caller: Caller = { principal, client, capabilities: asking, logLevel: undefined };
  return { principal, server: 'a', operation: toolCall(name, '{}'), caller };
}

const plain: Script = {
  tools: [tool('t'), tool('slow')],
  resources: [{ uri: 'x://a', name: 'a' }],
  on: {
    'tools/call': ({ params }) => (params['name'] === 'slow' ? undefined : text('done')),
    'resources/subscribe': () => ({}),
    'resources/unsubscribe': () => ({}),
  },
};

const deaf = {
  listChanged: () => {},
  updated: () => {},
  serversChanged: () => {},
  settingsChanged: () => {},
  policyChanged: () => {},
};

const question = { message: 'who?', requestedSchema: {} };

describe('which client a server means, after a hand-over', () => {
  it('is still known: each has its own process, reserved by its key #rollout', async () => {
    const scripts = { a: plain };
    const config = { a: { isolation: 'client' } };
    const first = newGateway(scripts, { config });
    const keys = ['ann', 'bob'];
    for (const key of keys) await first.host.carry(callOf(new PlayedClient(key), 't'));
    const before = first.host.status();
    const next = await nextHost(first, scripts, { config });
    expect(next.host.status().servers).toEqual(before.servers);
    const [ann, bob] = keys.map((key) => new PlayedClient(key));
    if (!ann || !bob) throw new Error('there are two');
    next.host.setClients({
      all: () => [ann, bob],
      find: (key) => [ann, bob].find((one) => one.key === key),
    });
    for (const one of [bob, ann]) await next.host.carry(callOf(one, 't'));
    const { children } = first.servers.a;
    expect(children.map((child) => child.heardAs('tools/call').length)).toEqual([2, 2]);
    children[1]?.ask('q', 'elicitation/create', question);
    await settled();
    expect([ann.asked.length, bob.asked.length]).toEqual([0, 1]);
    expect(children[1]?.answerTo('q').result).toEqual({ by: 'bob' });
    await next.host.clientGone('ann');
    expect(children.map(({ isGone }) => isGone)).toEqual([true, false]);
  });

  it('is known of the one client that has used a shared process, before it calls again', async () => {
    const scripts = { a: plain };
    const first = newGateway(scripts);
    await first.host.carry(callOf(new PlayedClient('ann'), 't'));
    const next = await nextHost(first, scripts);
    const { child } = first.servers.a;
    child.ask('early', 'elicitation/create', question);
    await settled();
    expect(child.answerTo('early').error).toBeDefined();
    const ann = new PlayedClient('ann');
    next.host.setClients({ all: () => [ann], find: (key) => (key === 'ann' ? ann : undefined) });
    child.ask('q', 'elicitation/create', question);
    await settled();
    expect(child.answerTo('q').result).toEqual({ by: 'ann' });
  });

  it('is not taken for another that calls first in the next process', async () => {
    const scripts = { a: plain };
    const first = newGateway(scripts);
    await first.host.carry(callOf(new PlayedClient('ann'), 't'));
    const next = await nextHost(first, scripts);
    const bob = new PlayedClient('bob');
    await next.host.carry(callOf(bob, 't'));
    const { child } = first.servers.a;
    child.ask('q', 'elicitation/create', question);
    await settled();
    expect(bob.asked).toEqual([]);
    expect(child.answerTo('q').error).toMatchObject({
      message: expect.stringContaining('isolation'),
    });
  });

  it('is not the only one known, if another waited for its turn at the fence #rollout', async () => {
    const scripts = { a: plain };
    const config = { a: { concurrency: 1 } };
    const first = newGateway(scripts, { config });
    const [ann, bob] = [new PlayedClient('ann'), new PlayedClient('bob')];
    first.host.carry(callOf(ann, 'slow')).catch(() => {});
    await settled();
    first.host.carry(callOf(bob, 'slow')).catch(() => {});
    await settled();
    const next = await nextHost(first, scripts, { config });
    const later = new PlayedClient('ann');
    next.host.setClients({
      all: () => [later],
      find: (key) => (key === 'ann' ? later : undefined),
    });
    const { child } = first.servers.a;
    child.answer(child.last('tools/call'), text('late'));
    await settled();
    expect(child.heardAs('tools/call')).toHaveLength(2);
    child.note('notifications/message', { level: 'error', data: 'about a call of bob' });
    await settled();
    next.host.carry(callOf(later, 'slow')).catch(() => {});
    await settled();
    child.ask('q', 'elicitation/create', question);
    await settled();
    expect([later.told.length, later.asked.length]).toEqual([0, 0]);
  });

  it('is refused while calls of both processes may be meant', async () => {
    const scripts = { a: plain };
    const first = newGateway(scripts);
    const [ann, bob] = [new PlayedClient('ann'), new PlayedClient('bob')];
    // The same person with two clients: the only call that runs would be meant.
    await first.host.carry(callOf(bob, 't'));
    const old = first.host.carry(callOf(ann, 'slow'));
    await settled();
    const next = await nextHost(first, scripts);
    const late = next.host.carry(callOf(bob, 'slow'));
    await settled();
    const { child } = first.servers.a;
    child.ask('q', 'elicitation/create', question);
    await settled();
    expect(child.answerTo('q').error).toBeDefined();
    expect([ann.asked.length, bob.asked.length]).toEqual([0, 0]);
    const [olds] = child.heardAs('tools/call').slice(1);
    if (olds) child.answer(olds, text('old'));
    await old;
    await settled();
    child.ask('r', 'elicitation/create', question);
    await settled();
    expect(bob.asked).toHaveLength(1);
    child.answer(child.last('tools/call'), text('late'));
    await late;
  });
});

describe('what a legacy server was asked to report on', () => {
  it('is not asked for again by a client that goes on watching #rollout', async () => {
    const scripts = { a: plain };
    const first = newGateway(scripts);
    const watch = async (host: typeof first.host, client: Client, uri: string) => {
      const { caller } = callOf(client, 't');
      return await host.find('a').slots.watch(caller, uri);
    };
    await watch(first.host, new PlayedClient('ann'), 'x://a');
    const next = await nextHost(first, scripts);
    const { child } = first.servers.a;
    const end = await watch(next.host, new PlayedClient('ann'), 'x://a');
    expect(child.heardAs('resources/subscribe')).toHaveLength(1);
    await watch(next.host, new PlayedClient('ann'), 'x://b');
    expect(child.heardAs('resources/subscribe')).toHaveLength(2);
    end();
    await settled();
    expect(child.heardAs('resources/unsubscribe')).toHaveLength(1);
    await watch(next.host, new PlayedClient('ann'), 'x://a');
    expect(child.heardAs('resources/subscribe')).toHaveLength(3);
  });

  it('is not ended by the former process with its sessions #rollout', async () => {
    const scripts = { a: plain };
    const first = newGateway(scripts);
    const peer = first.legacy();
    peer.request('resources/subscribe', { uri: 'x://a' });
    await settled();
    const next = await nextHost(first, scripts);
    const session = next.legacy();
    session.request('resources/subscribe', { uri: 'x://a' });
    await settled();
    peer.session.close();
    await first.host.close();
    await settled();
    const { child } = first.servers.a;
    expect(child.heardAs('resources/unsubscribe')).toEqual([]);
    child.note('notifications/resources/updated', { uri: 'x://a' });
    expect(session.methods()).toEqual(['notifications/resources/updated']);
  });

  it('a modern one is listened to anew, and its lists are read again when they are needed', async () => {
    const scripts = { a: { ...plain, era: 'modern' as const } };
    const first = newGateway(scripts);
    await first.host.call('a', 't');
    await settled();
    const next = await nextHost(first, scripts);
    const { child } = first.servers.a;
    expect(child.heardAs('subscriptions/listen')).toHaveLength(2);
    expect(next.host.find('a').catalogue.isFresh).toBe(false);
    await next.host.tools('a');
    expect(child.heardAs('tools/list')).toHaveLength(2);
  });
});

describe('a list that has changed just before the hand-over', () => {
  it('is told of by the next process, to a session that goes on and to one who listens on #rollout', async () => {
    const scripts = { a: plain };
    const first = newGateway(scripts);
    const peer = first.legacy();
    peer.request('tools/list');
    await settled();
    const state = peer.session.state;
    if (state === undefined) throw new Error('the session cannot be handed over');
    first.servers.a.child.note('notifications/tools/list_changed');
    await settled();
    const next = await nextHost(first, scripts);
    const heard: string[] = [];
    const outlet = { send: (_frame: unknown, kind = '') => void heard.push(kind) };
    next.gateway.openSession(localUser, outlet, { key: 'ann', restored: state });
    await settled();
    await next.clock.advanceAsync(100);
    expect(heard).toEqual(['notifications/tools/list_changed']);
    const notifications = { toolsListChanged: true, promptsListChanged: true };
    const listen = (goesOn: boolean) =>
      next.modern({}, { goesOn }).request('subscriptions/listen', { notifications });
    const [again, anew] = [listen(true), listen(false)];
    await settled();
    await next.clock.advanceAsync(100);
    const methods = (reply: typeof again) => reply.messages.map(({ method }) => method);
    expect(methods(again).slice(1)).toEqual(['notifications/tools/list_changed']);
    expect(methods(anew)).toHaveLength(2);
    await next.host.tools('a');
    const later = listen(true);
    await settled();
    await next.clock.advanceAsync(100);
    expect(methods(later)).toEqual(['notifications/subscriptions/acknowledged']);
  });
});

describe('a modern subscription at the fence', () => {
  it('is ended where its client has to ask for it again, and only there', async () => {
    const { gateway, modern } = newGateway({ a: plain });
    const notifications = { toolsListChanged: true };
    const listen = (options: object) =>
      modern({}, options).request('subscriptions/listen', { notifications });
    const [overHttp, worker] = [listen({ key: localUser.id }), listen({ key: 'worker-1' })];
    const window = listen({ key: 'socket-1', goesAlong: true });
    await settled();
    gateway.endListenings();
    const answered = [overHttp, worker, window].map(({ answers }) => answers.length);
    expect(answered).toEqual([1, 1, 0]);
    expect(gateway.kept['listenings']).toBe(1);
    window.underway?.cancel();
    expect([gateway.kept['listenings'], gateway.unfinished]).toEqual([0, 0]);
  });
});

describe('a resource that changes while its watchers are on their way', () => {
  it('is told of when they are there #rollout', async () => {
    const scripts = { a: plain };
    const first = newGateway(scripts);
    const peer = first.legacy();
    peer.request('resources/subscribe', { uri: 'x://a' });
    await settled();
    const state = peer.session.state;
    if (state === undefined) throw new Error('the session cannot be handed over');
    const next = await nextHost(first, scripts);
    const { child } = first.servers.a;
    child.note('notifications/resources/updated', { uri: 'x://a' });
    await settled();
    const heard: string[] = [];
    const outlet = { send: (frame: Frame) => void heard.push(frameText(frame)) };
    const session = next.gateway.openSession(localUser, outlet, { key: 'ann', restored: state });
    await settled();
    const told = heard.map((line) => JSON.parse(line));
    expect(told).toMatchObject([{ params: { uri: 'x://a' } }]);
    session.watchAlso?.({ as: 'x://b', server: 'a', uri: 'x://b' });
    const notifications = { resourceSubscriptions: ['x://a'] };
    const listening = next.modern({}, { goesOn: true });
    const reply = listening.request('subscriptions/listen', { notifications });
    await settled();
    expect(JSON.parse(heard[1] ?? '')).toMatchObject({ params: { uri: 'x://b' } });
    expect(reply.messages).toMatchObject([
      { method: 'notifications/subscriptions/acknowledged' },
      { method: 'notifications/resources/updated', params: { uri: 'x://a' } },
    ]);
    expect(child.heardAs('resources/subscribe').map(({ params }) => params['uri'])).toEqual([
      'x://a',
      'x://b',
    ]);
  });
});

describe('a task that was begun', () => {
  const times = { createdAt: 'x', lastUpdatedAt: 'x', ttl: null, pollInterval: 500 };
  const script: Script = {
    capabilities: { tools: {}, tasks: { cancel: {}, requests: { tools: { call: {} } } } },
    tools: [tool('work', { execution: { taskSupport: 'optional' } })],
    on: {
      'tools/call': () => ({ task: { taskId: 'task-1', status: 'working', ...times } }),
    },
  };

  it('is known in the next process, keeps its server open, and is not cancelled by the former #tasks', async () => {
    const scripts = { a: script };
    const config = { a: { keepAliveMs: 1_000 } };
    const first = newGateway(scripts, { config });
    const peer = first.legacy();
    peer.request('tools/call', { name: 'a__work', task: { ttl: 60_000 } });
    await settled();
    const task = first.host.tasks.get(1);
    if (!task) throw new Error('no task was begun');
    const next = await nextHost(first, scripts, { config });
    const [restored] = next.host.tasks.ofClient(task.client.key);
    expect(restored).toMatchObject({ serial: task.serial, taskId: 'task-1', era: 'legacy' });
    await next.clock.advanceAsync(10_000);
    const { child } = first.servers.a;
    expect(child.isGone).toBe(false);
    await first.host.clientGone(task.client.key);
    expect(child.heardAs('tasks/cancel')).toEqual([]);
    await next.host.clientGone(task.client.key);
    await settled();
    expect(child.heardAs('tasks/cancel')).toHaveLength(1);
    await next.clock.advanceAsync(1_500);
    expect(child.isGone).toBe(true);
  });

  it('after the fence, by a call that was begun before, is known in the next process, under a handle of its own #tasks', async () => {
    const capabilities = { tasks: {} };
    const scripts = { a: { ...script, on: { 'tools/call': () => undefined } } };
    const first = newGateway(scripts);
    const peer = first.legacy(capabilities);
    const begin = { name: 'a__work', task: { ttl: 60_000 } };
    const late = peer.request('tools/call', begin);
    await settled();
    const second = await nextHost(first, scripts);
    const third = await nextHost(second, scripts);
    const { child } = first.servers.a;
    child.answer(child.last('tools/call'), {
      task: { taskId: 'late', status: 'working', ...times },
    });
    await settled();
    expect(late.result).toMatchObject({ task: { status: 'working' } });
    third.legacy(capabilities).request('tools/call', begin);
    await settled();
    child.answer(child.last('tools/call'), {
      task: { taskId: 'own', status: 'working', ...times },
    });
    await settled();
    const known = third.host.tasks
      .ofClient('session-1')
      .map(({ serial, taskId }) => [serial, taskId]);
    expect(known).toEqual([
      [1, 'late'],
      [2_000_001, 'own'],
    ]);
    expect(first.host.tasks.ofClient('session-1')).toEqual([]);
    expect(second.host.tasks.ofClient('session-1')).toEqual([]);
  });

  it('hears its progress and is asked its questions in the next process, also while the former has another call #tasks', async () => {
    const scripts = { a: { ...script, tools: [...(script.tools ?? []), tool('slow')] } };
    const first = newGateway(scripts);
    const peer = first.legacy({ elicitation: {} });
    const _meta = { progressToken: 'mine' };
    peer.request('tools/call', { name: 'a__work', task: { ttl: 60_000 }, _meta });
    await settled();
    const { child } = first.servers.a;
    const { progressToken } = child.last('tools/call').params['_meta'] as Record<string, unknown>;
    first.servers.a.script = { ...scripts.a, on: { 'tools/call': () => undefined } };
    const other = new PlayedClient('other');
    first.host.carry(callOf(other, 'slow')).catch(() => {});
    await settled();
    expect(child.heardAs('tools/call')).toHaveLength(2);
    const task = first.host.tasks.get(1);
    if (!task) throw new Error('no task was begun');
    const next = await nextHost(first, scripts);
    const told: (string | undefined)[] = [];
    next.host.news.subscribe({ ...deaf, task: ({ message }) => told.push(message.method) });
    const owner = new PlayedClient(task.client.key);
    next.host.setClients({
      all: () => [owner],
      find: (key) => (key === owner.key ? owner : undefined),
    });
    child.note('notifications/progress', { progressToken, progress: 1 });
    child.note('notifications/tasks/status', { taskId: 'task-1', status: 'working', ...times });
    const related = { 'io.modelcontextprotocol/related-task': { taskId: 'task-1' } };
    child.ask('q', 'elicitation/create', { ...question, _meta: related });
    await settled();
    expect(told).toEqual(['notifications/progress', 'notifications/tasks/status']);
    expect([owner.asked.length, other.asked.length]).toEqual([1, 0]);
    expect(child.answerTo('q').result).toEqual({ by: owner.key });
  });
});

describe('what a role has spent', () => {
  const settings = { roles: { r: { allow: ['*'], budget: { calls: 3, per: 'principal' } } } };
  const ann: Principal = { id: 'token:ann', role: 'r' };
  const call = { name: 'a__t', arguments: {} };

  it.each(['in memory', 'in the database'])('stays spent: %s #rollout', async (where) => {
    const scripts = { a: plain };
    const first = newGateway(scripts, { settings });
    const spent = first.store.records('spent', { durability: 'process' });
    const kept = where === 'in memory' ? {} : { kept: { spent } };
    const world = newGateway(scripts, { settings, store: first.store, ...kept });
    const peer = world.modern({}, { principal: ann });
    peer.request('tools/call', call);
    peer.request('tools/call', call);
    await settled();
    const before = world.host.status().budgets;
    expect(before[0]?.limits[0]).toMatchObject({ spent: 2 });
    const next = await nextHost(world, scripts, { settings, ...kept });
    expect(next.host.status().budgets).toEqual(before);
    const late = next.modern({}, { principal: ann });
    const third = late.request('tools/call', call);
    await settled();
    const fourth = late.request('tools/call', call);
    await settled();
    await next.clock.advanceAsync(10);
    await settled();
    expect(third.result).toMatchObject(text('done'));
    expect(JSON.stringify(fourth.answered)).toContain('budget_exceeded');
    // What the former still charges is counted by the next one, which alone records it.
    peer.request('tools/call', call);
    await settled();
    await world.host.close();
    await settled();
    expect(next.host.status().budgets[0]?.limits[0]).toMatchObject({ spent: 4 });
  });

  it('is forgotten if its session has not come back in the time that a session is kept #rollout #no-growth', async () => {
    const roles = { r: { allow: ['*'], budget: { calls: 1, per: 'session' } } };
    const scripts = { a: plain };
    const first = newGateway(scripts, { settings: { roles } });
    const old = new PlayedClient('ann');
    await first.host.carry(callOf(old, 't', ann));
    first.host.setClients({ all: () => [old], find: () => undefined });
    const next = await nextHost(first, scripts, { settings: { roles } });
    await settled();
    await next.clock.advanceAsync(1_800_000);
    await next.host.carry(callOf(new PlayedClient('ann'), 't', ann));
  });

  it('stays spent by a session that goes on, and only by it #rollout', async () => {
    const roles = { r: { allow: ['*'], budget: { calls: 1, per: 'session' } } };
    const scripts = { a: plain };
    const first = newGateway(scripts, { settings: { roles } });
    const [old, now, other] = ['ann', 'ann', 'bob'].map((key) => new PlayedClient(key));
    if (!old || !now || !other) throw new Error('there are three');
    await first.host.carry(callOf(old, 't', ann));
    first.host.setClients({ all: () => [old], find: () => undefined });
    const next = await nextHost(first, scripts, { settings: { roles } });
    await settled();
    await expect(next.host.carry(callOf(now, 't', ann))).rejects.toMatchObject({
      code: 'budget_exceeded',
    });
    await next.host.carry(callOf(other, 't', ann));
  });
});
