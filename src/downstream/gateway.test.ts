import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import {
  type Heard,
  type Script,
  type ScriptedChild,
  text,
  tool,
} from '../../test/support/scripted-server.ts';
import { classOf } from '../host/connections/client-class.ts';
import type { Principal } from '../policy/principal.ts';

const script: Script = { tools: [tool('ask')], on: { 'tools/call': () => undefined } };
const call = (who: string) => ({ name: 's__ask', arguments: { who } });
const able = { elicitation: {}, sampling: {}, roots: {} };
const whoIn = ({ params }: Heard) => (params['arguments'] as { who: string }).who;

/** The process that carries this one's call. */
function processOf({ servers }: ReturnType<typeof newWorld>, who: string) {
  const child = servers.s.children.find((one) =>
    one.heardAs('tools/call').some((heard) => whoIn(heard) === who),
  );
  if (!child) throw new Error(`nobody carries the call of ${who}`);
  return child;
}

function newWorld(isolation = 'auto', scripted: Script = script) {
  return newGateway({ s: scripted }, { config: { s: { isolation } } });
}

/** A first call for a client with roots waits to see whether the server asks for them. */
const started = ({ clock }: ReturnType<typeof newWorld>) => clock.advanceAsync(500);

describe('two clients on one shared legacy server', () => {
  it('are not asked for each other: the question is refused, naming the key', async () => {
    const world = newWorld();
    const [ann, bob] = [world.legacy(able), world.legacy(able)];
    const calls = [ann.request('tools/call', call('ann')), bob.request('tools/call', call('bob'))];
    await settled();
    const { child } = world.servers.s;
    expect(world.servers.s.children.length).toBe(1);
    child.ask('q', 'elicitation/create', { message: 'whose?' });
    await settled();
    expect(child.answerTo('q').error).toMatchObject({
      message: expect.stringContaining('"isolation": "client"'),
    });
    expect([...calls.flatMap(({ sent }) => sent), ...ann.heard, ...bob.heard]).toEqual([]);
  });

  it('each have their own from then on, and are asked there', async () => {
    const world = newWorld();
    const [ann, bob] = [world.legacy(able), world.legacy(able)];
    ann.request('tools/call', call('ann'));
    bob.request('tools/call', call('bob'));
    await started(world);
    world.servers.s.child.ask('q', 'elicitation/create', { message: '?' });
    await settled();
    const anns = ann.request('tools/call', call('ann2'));
    const bobs = bob.request('tools/call', call('bob2'));
    await started(world);
    expect(world.servers.s.children.length).toBe(3);
    processOf(world, 'bob2').ask('b', 'elicitation/create', { message: 'bob?' });
    processOf(world, 'ann2').ask('a', 'elicitation/create', { message: 'ann?' });
    await settled();
    expect(anns.messages).toMatchObject([{ params: { message: 'ann?' } }]);
    expect(bobs.messages).toMatchObject([{ params: { message: 'bob?' } }]);
    ann.answer(1, { action: 'accept' });
    await settled();
    expect(processOf(world, 'ann2').answerTo('a').result).toEqual({ action: 'accept' });
    expect(() => processOf(world, 'bob2').answerTo('b')).toThrow();
  });

  it('are kept apart from the first call on after a restart, because it is remembered', async () => {
    const before = newWorld();
    const [ann, bob] = [before.legacy(able), before.legacy(able)];
    ann.request('tools/call', call('ann'));
    bob.request('tools/call', call('bob'));
    await settled();
    before.servers.s.child.ask('q', 'elicitation/create', { message: '?' });
    await settled();
    const after = newGateway({ s: script }, { store: before.store });
    await settled();
    for (const who of ['ann', 'bob']) after.legacy(able).request('tools/call', call(who));
    await settled();
    expect(after.servers.s.children.length).toBe(2);
  });

  it('are refused for ever where the operator wants one for all', async () => {
    const world = newWorld('shared');
    for (const who of ['ann', 'bob']) world.legacy(able).request('tools/call', call(who));
    await settled();
    for (const id of ['q1', 'q2']) {
      world.servers.s.child.ask(id, 'sampling/createMessage');
      await settled();
      expect(world.servers.s.child.answerTo(id).error).toBeDefined();
    }
    world.legacy(able).request('tools/call', call('eve'));
    await settled();
    expect(world.servers.s.children.length).toBe(1);
  });

  it('do not hear each other’s log lines', async () => {
    const world = newWorld('shared');
    const person = { id: 'token:bob', role: null };
    world.host.setGuard(() => ({ allow: true }));
    const [ann, bob] = [world.legacy(), world.legacy({}, person)];
    const calls = [ann.request('tools/call', call('ann')), bob.request('tools/call', call('bob'))];
    await settled();
    world.servers.s.child.note('notifications/message', { level: 'error', data: 'ann’s secret' });
    await settled();
    expect([...calls.flatMap(({ sent }) => sent), ...ann.heard, ...bob.heard]).toEqual([]);
  });
});

describe('one call under way on a legacy server that several clients have used', () => {
  const twoCalls = async (world: ReturnType<typeof newWorld>, principal?: Principal) => {
    const [ann, bob] = [world.legacy({ sampling: {} }), world.legacy({ sampling: {} }, principal)];
    ann.request('tools/call', call('ann'));
    await settled();
    const { child } = world.servers.s;
    child.answer(child.last('tools/call'), text('done'));
    await settled();
    const reply = bob.request('tools/call', call('bob'));
    await settled();
    child.ask('q', 'sampling/createMessage', { n: 1 });
    await settled();
    return { reply, child };
  };

  it('is the one that is asked, if all of them are the same person #asked-client', async () => {
    const { reply } = await twoCalls(newWorld());
    expect(reply.messages).toMatchObject([{ method: 'sampling/createMessage' }]);
  });

  it('is not asked if one of them is somebody else', async () => {
    const world = newWorld();
    world.host.setGuard(() => ({ allow: true }));
    const { reply, child } = await twoCalls(world, { id: 'token:x', role: null });
    expect([reply.messages, child.answerTo('q').error !== undefined]).toEqual([[], true]);
  });
});

describe('one client of a legacy server', () => {
  it('is asked on the shared one, and keeps it when another comes', async () => {
    const world = newWorld();
    const ann = world.legacy(able);
    const first = ann.request('tools/call', call('ann'));
    await started(world);
    world.servers.s.child.ask('q', 'sampling/createMessage', { n: 1 });
    await settled();
    expect(first.messages).toMatchObject([{ method: 'sampling/createMessage' }]);
    world.legacy(able).request('tools/call', call('bob'));
    ann.request('tools/call', call('ann2'));
    await settled();
    expect(processOf(world, 'ann2')).toBe(processOf(world, 'ann'));
    expect(processOf(world, 'bob')).not.toBe(processOf(world, 'ann'));
  });

  it('hears its log lines on the stream of its call, and of others that belong to nothing', async () => {
    const world = newWorld();
    const ann = world.legacy();
    const first = ann.request('tools/call', call('ann'));
    await settled();
    const { child } = world.servers.s;
    child.note('notifications/message', { level: 'info', data: 1 });
    child.answer(child.last('tools/call'), text('done'));
    await settled();
    child.note('notifications/message', { level: 'info', data: 2 });
    await settled();
    expect(first.messages).toMatchObject([{ params: { data: 1 } }]);
    expect(ann.messages).toMatchObject([{ params: { data: 2 } }]);
  });

  it('is asked for its roots, and nobody else is ever told them', async () => {
    const world = newWorld();
    const ann = world.legacy(able);
    const first = ann.request('tools/call', call('ann'));
    await started(world);
    const { child } = world.servers.s;
    expect(child.heardAs('notifications/roots/list_changed').length).toBe(1);
    child.ask('r', 'roots/list');
    await settled();
    expect(first.messages).toMatchObject([{ id: 1, method: 'roots/list' }]);
    expect(() => child.answerTo('r')).toThrow();
    ann.answer(1, { roots: [{ uri: 'file:///ann' }] });
    await settled();
    expect(child.answerTo('r').result).toEqual({ roots: [{ uri: 'file:///ann' }] });
    world.legacy(able).request('tools/call', call('bob'));
    await world.clock.advanceAsync(2_000);
    expect(processOf(world, 'bob')).not.toBe(child);
  });

  it('without roots has none, and is not asked', async () => {
    const world = newWorld();
    const ann = world.legacy();
    const first = ann.request('tools/call', call('ann'));
    await settled();
    const { child } = world.servers.s;
    child.ask('r', 'roots/list');
    await settled();
    expect(child.answerTo('r').result).toEqual({ roots: [] });
    expect([first.sent, child.heardAs('notifications/roots/list_changed')]).toEqual([[], []]);
  });

  it('that goes away has its own process ended, whatever it was doing', async () => {
    const world = newWorld('client');
    const ann = world.legacy(able);
    const reply = ann.request('tools/call', call('ann'));
    await started(world);
    const child = processOf(world, 'ann');
    child.ask('q', 'elicitation/create', { message: '?' });
    await settled();
    ann.session.close();
    await world.clock.advanceAsync(1_000);
    expect([child.isGone, reply.answers]).toEqual([true, []]);
  });

  it('that goes away has its call on a shared process cancelled, and the process stays', async () => {
    const world = newWorld('shared');
    const ann = world.legacy(able);
    ann.request('tools/call', call('ann'));
    world.legacy(able).request('tools/call', call('bob'));
    await started(world);
    const { child } = world.servers.s;
    ann.session.close();
    await settled();
    const [anns] = child.heardAs('tools/call');
    expect(child.heardAs('notifications/cancelled').map(({ params }) => params)).toEqual([
      { requestId: anns?.id },
    ]);
    expect(child.isGone).toBe(false);
  });

  it('is no longer asked by a process that has ended', async () => {
    const world = newWorld();
    const ann = world.legacy(able);
    const reply = ann.request('tools/call', call('ann'));
    await started(world);
    world.servers.s.child.ask('q', 'elicitation/create', { message: '?' });
    await settled();
    world.servers.s.child.exit();
    await settled();
    const { messages } = reply;
    expect([...messages, ...ann.messages].map(({ method }) => method)).toEqual([
      'elicitation/create',
      'notifications/cancelled',
    ]);
  });
});

describe('a server that asks for roots when it is started', () => {
  const asksAtStart: Script = {
    ...script,
    on: {
      ...script.on,
      'notifications/initialized': (_heard, child) => child.ask('r', 'roots/list'),
    },
  };

  it('has its answer before the first call #roots', async () => {
    const world = newWorld('auto', asksAtStart);
    const ann = world.legacy(able);
    const first = ann.request('tools/call', call('ann'));
    await settled();
    const { child } = world.servers.s;
    expect([first.messages.length, child.heardAs('tools/call').length]).toEqual([1, 0]);
    ann.answer(1, { roots: [{ uri: 'file:///ann' }] });
    await world.clock.advanceAsync(100);
    expect(child.answerTo('r').result).toEqual({ roots: [{ uri: 'file:///ann' }] });
    expect(processOf(world, 'ann')).toBe(child);
    expect(child.heardAs('notifications/roots/list_changed')).toEqual([]);
  });

  it('is called after two seconds if the client does not answer', async () => {
    const world = newWorld('auto', asksAtStart);
    world.legacy(able).request('tools/call', call('ann'));
    await world.clock.advanceAsync(1_999);
    expect(world.servers.s.child.heardAs('tools/call')).toEqual([]);
    await world.clock.advanceAsync(1);
    expect(processOf(world, 'ann')).toBe(world.servers.s.child);
  });

  it('is told of roots, and waited for, where it asked before anybody was there', async () => {
    const world = newWorld('auto', asksAtStart);
    await world.host.find('s').facts.learn({ asksAtStart: true });
    world.host.find('s').slots.recall(classOf(JSON.stringify(able)));
    await world.host.find('s').supervisor.lease('test');
    await settled();
    const { child } = world.servers.s;
    expect(child.answerTo('r').result).toEqual({ roots: [] });
    const ann = world.legacy(able);
    ann.request('tools/call', call('ann'));
    await settled();
    expect(child.heardAs('notifications/roots/list_changed').length).toBe(1);
    expect(child.heardAs('tools/call')).toEqual([]);
    child.ask('r2', 'roots/list');
    await settled();
    ann.answer(1, { roots: [{ uri: 'file:///ann' }] });
    await world.clock.advanceAsync(100);
    expect(processOf(world, 'ann')).toBe(child);
  });
});

describe('a server that offers more to clients that can do more', () => {
  const lists = (child: ScriptedChild) => {
    const { capabilities } = child.last('initialize').params as { capabilities: object };
    return { tools: 'sampling' in capabilities ? [tool('ask'), tool('sample')] : [tool('ask')] };
  };
  const choosy: Script = { on: { 'tools/list': (_heard, child) => lists(child) } };
  const names = (reply: { result: Record<string, unknown> }) =>
    (reply.result['tools'] as { name: string }[])
      .map(({ name }) => name)
      .filter((n) => n[0] === 's');

  it('shows each class of clients its own tools, and both find them again #classes', async () => {
    const world = newWorld('auto', choosy);
    const [plain, rich] = [world.legacy(), world.legacy({ sampling: {} })];
    const first = plain.request('tools/list');
    await settled();
    expect(names(first)).toEqual(['s__ask']);
    rich.request('tools/call', { name: 's__ask' });
    await world.clock.advanceAsync(20);
    expect(world.host.find('s').facts.now.classes).toBe('differ');
    expect(rich.methods()).toEqual(['notifications/tools/list_changed']);
    const [second, third] = [rich.request('tools/list'), plain.request('tools/list')];
    await settled();
    expect([names(second), names(third)]).toEqual([['s__ask', 's__sample'], ['s__ask']]);
    expect(world.servers.s.children.filter(({ isGone }) => !isGone)).toHaveLength(2);
  });

  it('shows a client that only lists its own tools too, after a short wait #classes', async () => {
    const world = newWorld('auto', choosy);
    const [plain, rich] = [world.legacy(), world.legacy({ sampling: {} })];
    plain.request('tools/list');
    await settled();
    const [first, again] = [rich.request('tools/list'), plain.request('tools/list')];
    await settled();
    expect([names(first), names(again)]).toEqual([['s__ask', 's__sample'], ['s__ask']]);
  });

  it('is initialized with the capabilities of a modern client that comes first #classes', async () => {
    const world = newWorld('auto', choosy);
    const list = world.modern({ sampling: {} }).request('tools/list');
    await settled();
    expect(names(list)).toEqual(['s__ask', 's__sample']);
  });

  it('tells clients of a later run what it offers them, before it is started #classes', async () => {
    const world = newWorld('auto', { ...choosy, instructions: 'be kind' });
    const [plain, rich] = [world.legacy(), world.legacy({ sampling: {} })];
    plain.request('tools/list');
    await settled();
    rich.request('tools/call', { name: 's__ask' });
    await settled();
    const later = newGateway({ s: choosy }, { store: world.store });
    const again = [later.legacy({ sampling: {} }), later.legacy()];
    await settled();
    const [second, first] = again.map((peer) => peer.request('tools/list'));
    await settled();
    expect([first, second].map((reply) => reply && names(reply))).toEqual([
      ['s__ask'],
      ['s__ask', 's__sample'],
    ]);
    expect(later.servers.s.children).toEqual([]);
  });
});

describe('a server that speaks both eras', () => {
  it('is asked back by the era of each client, on a connection of that era #eras', async () => {
    const world = newWorld('auto', { ...script, era: 'both' });
    const old = world.legacy({ sampling: {} });
    const reply = old.request('tools/call', call('old'));
    await settled();
    expect(processOf(world, 'old').heardAs('initialize').length).toBe(1);
    processOf(world, 'old').ask('q', 'sampling/createMessage', { n: 1 });
    await settled();
    expect(reply.messages).toMatchObject([{ method: 'sampling/createMessage' }]);
    world.modern({ sampling: {} }).request('tools/call', call('young'));
    await settled();
    expect(processOf(world, 'young')).not.toBe(processOf(world, 'old'));
    expect(processOf(world, 'young').heardAs('initialize')).toEqual([]);
    const children = world.host.status().servers[0]?.children;
    expect(children?.map(({ era, class: clients }) => [era, clients])).toEqual([
      ['legacy', 'sampling'],
      ['modern', null],
    ]);
  });

  it('has one process at rest for modern clients although it answered the probe late #eras', async () => {
    const { world, answerProbe } = slowWorld();
    world.modern().request('tools/call', call('first'));
    await world.clock.advanceAsync(4_000);
    answerProbe();
    await settled();
    const reply = world.modern().request('tools/call', call('second'));
    await world.clock.advanceAsync(4_000);
    expect(reply.result).toMatchObject({ content: [] });
    const { children } = world.servers.s;
    expect(children.map((child) => child.heardAs('initialize').length)).toEqual([1, 0]);
    expect(children.map(({ isGone }) => isGone)).toEqual([true, false]);
  });

  it('keeps the connection that legacy clients use beside it #eras', async () => {
    const { world, answerProbe } = slowWorld();
    world.modern().request('tools/call', call('first'));
    await world.clock.advanceAsync(4_000);
    world.legacy().request('tools/call', call('old'));
    await settled();
    answerProbe();
    await settled();
    world.modern().request('tools/call', call('young'));
    await world.clock.advanceAsync(4_000);
    expect(processOf(world, 'old')).toBe(processOf(world, 'first'));
    expect(processOf(world, 'young').heardAs('initialize')).toEqual([]);
    expect(world.servers.s.children.map(({ isGone }) => isGone)).toEqual([false, false]);
  });
});

/** Its first process answers the probe when the test says so. */
function slowWorld() {
  const discovery = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
  let answerProbe: (() => void) | undefined;
  const on: Script['on'] = {
    'tools/call': () => ({ resultType: 'complete', content: [] }),
    'server/discover': (heard, child) => {
      if (answerProbe) return discovery;
      answerProbe = () => child.answer(heard, discovery);
      return undefined;
    },
  };
  const world = newWorld('auto', { tools: [tool('ask')], era: 'both', on });
  return { world, answerProbe: () => answerProbe?.() };
}

describe('a server that speaks the modern era only', () => {
  const answers = () => ({ resultType: 'complete', content: [] });
  const ends = (_heard: Heard, child: ScriptedChild) => void child.exit();

  it('serves legacy clients at its second start though it ends at initialize #eras', async () => {
    const on = { 'tools/call': answers, initialize: ends };
    const world = newWorld('auto', { ...script, era: 'modern', on });
    const refused = world.legacy().request('tools/call', call('old'));
    await settled();
    expect(refused.result).toMatchObject({ isError: true });
    for (const who of ['a', 'b', 'c']) {
      const reply = world.legacy().request('tools/call', call(who));
      await world.clock.advanceAsync(20_000);
      expect(reply.result).toEqual({ content: [] });
    }
    expect(world.servers.s.children).toHaveLength(2);
  });

  it('is sent initialize again, if it exited for another reason #eras', async () => {
    let starts = 0;
    const initialize = (_heard: Heard, child: ScriptedChild) => {
      if (++starts === 1) return void child.exit();
      return { protocolVersion: '2025-11-25', capabilities: { tools: {} } };
    };
    const on = { 'tools/call': answers, initialize };
    const world = newWorld('auto', { ...script, era: 'both', on });
    for (const who of ['a', 'b']) {
      world.legacy().request('tools/call', call(who));
      await world.clock.advanceAsync(20_000);
    }
    expect(processOf(world, 'b').heardAs('initialize')).toEqual([]);
    processOf(world, 'b').exit();
    world.legacy().request('tools/call', call('c'));
    await world.clock.advanceAsync(20_000);
    expect(processOf(world, 'c').heardAs('initialize')).toHaveLength(1);
  });

  it('serves a legacy client though it is silent on initialize #eras', async () => {
    const on = { 'tools/call': answers, initialize: () => undefined };
    const world = newWorld('auto', { ...script, era: 'modern', on });
    const reply = world.legacy().request('tools/call', call('old'));
    await world.clock.advanceAsync(20_000);
    expect(reply.result).toEqual({ content: [] });
    expect(world.servers.s.children).toHaveLength(1);
  });

  it('serves a legacy client though it ends at initialize, once it has answered the probe #eras', async () => {
    const on = { 'tools/call': answers, initialize: ends };
    const world = newWorld('auto', { ...script, era: 'modern', on });
    world.modern().request('tools/call', call('young'));
    await settled();
    for (const who of ['a', 'b', 'c']) {
      const reply = world.legacy().request('tools/call', call(who));
      await world.clock.advanceAsync(20_000);
      expect(reply.result).toEqual({ content: [] });
    }
    // The one that ended, and those of both eras until one of them was found to be enough.
    expect(world.servers.s.heard('initialize')).toHaveLength(1);
    expect(world.servers.s.children.filter(({ isGone }) => !isGone)).toHaveLength(1);
  });
});

describe('a server that treats all clients alike', () => {
  it('has one process at rest, whatever classes have called it #classes', async () => {
    const world = newWorld('auto', { tools: [tool('ask')] });
    for (const capabilities of [{}, { sampling: {} }, { elicitation: {} }, able]) {
      world.legacy(capabilities).request('tools/call', call('x'));
      await started(world);
    }
    for (const capabilities of [{}, { sampling: {} }, { elicitation: {} }, able]) {
      world.legacy(capabilities).request('tools/call', call('x'));
      await started(world);
    }
    await world.clock.advanceAsync(5_000);
    expect(world.host.find('s').facts.now.classes).toBe('alike');
    expect(world.servers.s.children.filter(({ isGone }) => !isGone)).toHaveLength(1);
  });
});

describe('modern clients of a legacy server that asks', () => {
  it('have a process for each call that runs at the same time, so that every question has one owner', async () => {
    const world = newWorld('client');
    const peer = world.modern(able);
    const one = peer.request('tools/call', call('one'));
    const two = peer.request('tools/call', call('two'));
    await started(world);
    expect(processOf(world, 'one')).not.toBe(processOf(world, 'two'));
    processOf(world, 'two').ask('q', 'elicitation/create', { message: 'two?' });
    await settled();
    expect([one.answers.length, two.answers.length]).toEqual([0, 1]);
    expect(two.result['inputRequests']).toMatchObject({ q1: { params: { message: 'two?' } } });
  });
});

describe('a gateway that ends', () => {
  it('closes its sessions and leaves no timer', async () => {
    const world = newWorld();
    const ann = world.legacy(able);
    ann.request('tools/call', call('ann'));
    await settled();
    world.servers.s.child.note('notifications/tools/list_changed');
    await world.gateway[Symbol.asyncDispose]();
    const closing = world.host.close();
    await world.clock.advanceAsync(10_000);
    await closing;
    expect([world.clock.pending, ann.session.inFlight, ann.heard]).toEqual([0, 0, []]);
    expect(world.servers.s.child.isGone).toBe(true);
  });
});

describe('a server that is kept, and has a process for each client', () => {
  const answers = { tools: [tool('ask')], on: { 'tools/call': () => text('done') } };
  const running = ({ servers }: ReturnType<typeof newWorld>) =>
    servers.s.children.filter(({ isGone }) => !isGone).length;

  it('has none that nobody uses #lazy', async () => {
    const config = { s: { isolation: 'client', lazy: false } };
    const world = newGateway({ s: answers }, { config });
    world.host.find('s').supervisor.want();
    await settled();
    expect(running(world)).toBe(1);
    const [ann, bob] = [world.legacy(), world.legacy()];
    for (const peer of [ann, bob]) peer.request('tools/call', call('x'));
    await settled();
    expect(running(world)).toBe(2);
    await world.clock.advanceAsync(600_000);
    expect(running(world)).toBe(2);
    ann.session.close();
    bob.session.close();
    await world.clock.advanceAsync(10_000);
    expect(running(world)).toBe(1);
  });
});

describe('a connection that another one had made needless', () => {
  it('is used again when that one is lost #classes', async () => {
    const world = newWorld('auto', script);
    world.host.find('s').facts.learn({ legacy: true, modern: false, classes: 'alike' });
    const [plain, rich] = [world.legacy(), world.legacy({ sampling: {} })];
    plain.request('tools/call', call('plain'));
    await settled();
    rich.request('tools/call', call('rich'));
    await settled();
    const [narrow, wide] = world.servers.s.children;
    expect([narrow, wide]).toEqual([processOf(world, 'plain'), processOf(world, 'rich')]);
    wide?.exit();
    await settled();
    plain.request('tools/call', call('again'));
    await settled();
    expect(processOf(world, 'again')).toBe(narrow);
  });
});

describe('a tool call without prefixes, while a server could not be asked for its tools', () => {
  it('is not told that there is no such tool: it may be of that server', async () => {
    const dying: Script = {
      on: {
        'server/discover': (_heard, child) => child.exit(),
        initialize: (_heard, child) => child.exit(),
      },
    };
    const { modern, clock } = newGateway(
      { a: { tools: [tool('known')] }, b: dying },
      { settings: { naming: 'transparent' } },
    );
    const call = modern().call('perhaps');
    await clock.advanceAsync(60_000);
    const { isError, _meta } = call.result as { isError: boolean; _meta: Record<string, unknown> };
    expect(isError).toBe(true);
    expect(_meta['holdfast/fault']).toMatchObject({ code: 'unavailable', server: 'b' });
  });
});
