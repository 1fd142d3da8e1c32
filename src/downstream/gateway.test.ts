import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { type Heard, type Script, text, tool } from '../../test/support/scripted-server.ts';

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
    await settled();
    world.servers.s.child.ask('q', 'elicitation/create', { message: '?' });
    await settled();
    const anns = ann.request('tools/call', call('ann2'));
    const bobs = bob.request('tools/call', call('bob2'));
    await settled();
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

describe('one client of a legacy server', () => {
  it('is asked on the shared one, and keeps it when another comes', async () => {
    const world = newWorld();
    const ann = world.legacy(able);
    const first = ann.request('tools/call', call('ann'));
    await settled();
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
    await settled();
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
    await settled();
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
    await settled();
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
    await settled();
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
    await settled();
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

describe('modern clients of a legacy server that asks', () => {
  it('have a process for each call that runs at the same time, so that every question has one owner', async () => {
    const world = newWorld('client');
    const peer = world.modern(able);
    const one = peer.request('tools/call', call('one'));
    const two = peer.request('tools/call', call('two'));
    await settled();
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
