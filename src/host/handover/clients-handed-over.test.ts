import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../../test/support/fake-gateway.ts';
import { nextHost } from '../../../test/support/next-host.ts';
import { type Script, text, tool } from '../../../test/support/scripted-server.ts';
import { localUser, type Principal } from '../../policy/principal.ts';
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
