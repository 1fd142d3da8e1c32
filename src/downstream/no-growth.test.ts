import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { type ScriptedChild, text, tool } from '../../test/support/scripted-server.ts';
import { cutBy } from '../policy/principal.ts';
import { maxPending } from './clients/asked-client.ts';
import { clientIdleMs } from './clients/modern-clients.ts';
import { maxUnderWay } from './contract.ts';
import { maxKept } from './relay/kept-outcomes.ts';
import { maxAsked } from './relay/parked-call.ts';
import { maxListenings, maxWatched } from './subscriptions/watching.ts';

const echo = { tools: [tool('t')], on: { 'tools/call': () => text('') } };
const elicitation = { message: '?', requestedSchema: { type: 'object', properties: {} } };

/** A legacy server that asks its client so often in each call, and then answers. */
const asking = (times: number) => ({
  tools: [tool('t')],
  on: {
    'tools/call': (_heard: unknown, child: ScriptedChild) => {
      for (let id = 1; id <= times; id++) child.ask(`q${id}`, 'elicitation/create', elicitation);
      return undefined;
    },
  },
});

describe('what the gateway keeps', () => {
  it('of sessions and their requests ends with them #no-growth', async () => {
    const { gateway, legacy } = newGateway({ s: echo });
    const before = gateway.kept;
    for (let count = 0; count < 100; count++) {
      const peer = legacy();
      for (let call = 0; call < 5; call++) {
        peer.request('tools/call', { name: 's__t', arguments: {} });
      }
      peer.request('tools/list');
      if (count % 2 === 0) await settled();
      peer.session.close();
    }
    await settled();
    expect(gateway.kept).toEqual({ ...before, composed: 1 });
  });

  it('of principals over HTTP is bounded, with what their servers keep for them #no-growth', async () => {
    const { gateway, host, modern } = newGateway(
      { s: echo },
      { config: { s: { isolation: 'client' } } },
    );
    host.setGuard(() => ({ allow: true }));
    for (let count = 0; count < 300; count++) {
      const principal = { id: `token:${count}`, role: null };
      modern({}, { principal, key: principal.id }).call('s__t');
      await settled();
    }
    expect(gateway.kept['clients']).toBe(256);
    expect([...host.find('s').slots.all()].length).toBe(257);
    expect(gateway.kept).toMatchObject({ requests: 0, parked: 0 });
  });

  it('of principals over HTTP ends when they are idle, but not what they wait for #no-growth', async () => {
    const extension = 'io.modelcontextprotocol/tasks';
    const begun = { resultType: 'task', taskId: 'x', status: 'working', createdAt: '' };
    const { gateway, host, modern, clock } = newGateway(
      {
        s: echo,
        t: {
          era: 'modern',
          capabilities: { tools: {}, extensions: { [extension]: {} } },
          tools: [tool('t')],
          on: { 'tools/call': () => ({ ...begun, lastUpdatedAt: '', ttlMs: 5 * clientIdleMs }) },
        },
      },
      { config: { s: { isolation: 'client' }, t: { isolation: 'client' } } },
    );
    host.setGuard(() => ({ allow: true }));
    const as = (id: string) =>
      modern({ extensions: { [extension]: {} } }, { principal: { id, role: null }, key: id });
    const before = gateway.kept;
    for (let count = 0; count < 40; count++) {
      as(`token:${count}`).call('s__t');
      as(`token:${count}`).request('tools/list');
      await settled();
    }
    const listening = as('token:0').request('subscriptions/listen', { notifications: {} });
    const call = as('token:1').call('t__t');
    await settled();
    expect(call.result).toMatchObject({ resultType: 'task' });
    await clock.advanceAsync(2 * clientIdleMs);
    expect(gateway.kept).toMatchObject({ clients: 2, requests: 1 });
    expect(host.tasks.ofClient('token:1')).toMatchObject([{ taskId: 'x', isLost: false }]);
    listening.underway?.cancel();
    await clock.advanceAsync(8 * clientIdleMs);
    expect(gateway.kept).toEqual(before);
    for (const name of ['s', 't']) expect([...host.find(name).slots.all()].length).toBe(1);
  });

  it('of lists composed for principals is bounded #no-growth', async () => {
    const { gateway, modern, legacy } = newGateway({ s: echo });
    for (let count = 0; count < 400; count++) {
      const principal = { id: `token:${count}`, role: null };
      modern({}, { principal, key: principal.id }).request('tools/list');
      legacy({}, principal).request('tools/list');
      await settled();
    }
    expect(gateway.kept['composed']).toBeLessThanOrEqual(64);
  });

  it('of streams that listen is bounded for each client, and ends with them #no-growth', async () => {
    const { gateway, modern } = newGateway({ s: echo });
    const listen = { notifications: { toolsListChanged: true } };
    const client = modern();
    const open = Array.from({ length: maxListenings + 10 }, () =>
      client.request('subscriptions/listen', listen),
    );
    await settled();
    expect(gateway.kept['listenings']).toBe(maxListenings);
    expect(open.at(-1)?.answered.error?.data).toMatchObject({ code: 'overloaded' });
    const other = modern({}, { key: 'other' }).request('subscriptions/listen', listen);
    await settled();
    expect(other.answers).toEqual([]);
    for (const { underway } of [...open, other]) underway?.cancel();
    expect(gateway.kept).toMatchObject({ listenings: 0, requests: 0 });
  });

  it('of resources that a client watches is bounded, and ends with it #no-growth', async () => {
    const resources = {
      on: { 'resources/subscribe': () => ({}), 'resources/unsubscribe': () => ({}) },
    };
    const { legacy, modern, host } = newGateway({ s: resources });
    const peer = legacy();
    const replies = [];
    for (let count = 0; count < maxWatched + 10; count++) {
      replies.push(peer.request('resources/subscribe', { uri: `file:///${count}` }));
      if (count % 50 === 0) await settled();
    }
    await settled();
    const { subscriptions } = host.find('s').slots.current;
    expect(subscriptions.size).toBe(maxWatched);
    expect(replies.at(-1)?.answered.error?.data).toMatchObject({ code: 'overloaded' });
    peer.session.close();
    await settled();
    expect(subscriptions.size).toBe(0);
    const resourceSubscriptions = Array.from(
      { length: maxWatched + 1 },
      (_, at) => `file:///${at}`,
    );
    const reply = modern().request('subscriptions/listen', {
      notifications: { resourceSubscriptions },
    });
    await settled();
    expect(reply.answered.error?.data).toMatchObject({ code: 'overloaded' });
  });

  it('of questions that a legacy client has not answered is bounded #no-growth', async () => {
    const { legacy, servers } = newGateway({ s: asking(maxPending + 10) });
    const reply = legacy({ elicitation: {} }).request('tools/call', {
      name: 's__t',
      arguments: {},
    });
    await settled();
    expect(reply.messages.length).toBe(maxPending);
    expect(servers.s.child.answerTo(`q${maxPending + 10}`).error).toMatchObject({ code: -32601 });
    reply.underway?.cancel();
    await settled();
  });

  it('of questions inside one call of a modern client is bounded #no-growth', async () => {
    const { modern } = newGateway({ s: asking(maxAsked + 10) });
    const reply = modern({ elicitation: {} }).call('s__t');
    await settled();
    const { inputRequests } = reply.result as { inputRequests: object };
    expect(Object.keys(inputRequests).length).toBe(maxAsked);
  });

  it('of parked calls is bounded when they have ended #no-growth', async () => {
    const config = { s: { concurrency: 1_000, isolation: 'client' } };
    const { modern, gateway, servers, clock } = newGateway({ s: asking(1) }, { config });
    const calls = Array.from({ length: maxKept + 20 }, (_, count) => {
      const client = modern({ elicitation: {} }, { key: `client ${count}` });
      return { client, asked: client.call('s__t', { count }), count };
    });
    await settled();
    for (const { client, asked, count } of calls) {
      const { requestState } = asked.result as { requestState: string };
      const inputResponses = { q1: { action: 'decline' } };
      client.call('s__t', { count }, { requestState, inputResponses });
    }
    await settled();
    expect(gateway.kept['parked']).toBe(maxKept + 20);
    for (const child of servers.s.children) {
      for (const heard of child.heardAs('tools/call')) child.answer(heard, text(''));
    }
    await settled();
    expect(gateway.kept['parked']).toBe(maxKept);
    await clock.advanceAsync(60_000);
    expect(gateway.kept['parked']).toBe(0);
  });

  it('of requests under way is bounded for each client #no-growth', async () => {
    const silent = { ...echo, on: { 'tools/call': () => undefined } };
    const config = { s: { queue: 10_000 } };
    const { modern, legacy, gateway } = newGateway({ s: silent }, { config });
    const params = { name: 's__t', arguments: {} };
    const peer = legacy();
    const client = modern();
    for (let count = 0; count < maxUnderWay; count++) {
      peer.request('tools/call', params);
      client.request('tools/call', params);
    }
    await settled();
    expect(peer.session.inFlight).toBe(maxUnderWay);
    for (const reply of [peer.request('ping'), peer.request('tools/call', params)].slice(1)) {
      expect(reply.answered.error).toMatchObject({ code: -32603 });
    }
    expect(client.request('tools/call', params).answered.error).toMatchObject({ code: -32603 });
    expect(gateway.kept['requests']).toBe(maxUnderWay);
    const other = modern({}, { key: 'other' }).request('tools/call', params);
    await settled();
    expect(other.answers).toEqual([]);
  }, 20_000);

  it('of streams and of requests under way is bounded for each owner, on all its paths #no-growth #principal-share', async () => {
    const silent = { ...echo, on: { 'tools/call': () => undefined } };
    const roles = Object.fromEntries(
      ['a', 'b', 'c'].map((name) => [name, { allow: ['s/*'] }] as const),
    );
    const { modern, gateway } = newGateway(
      { s: silent },
      { config: { s: { queue: 10_000 } }, settings: { roles } },
    );
    const owner = { id: 'token:owner', role: 'a' };
    const on = (name: string) => {
      const principal = cutBy(owner, { kind: 'role', name });
      return modern({}, { principal, key: principal.id });
    };
    const [first, second, third] = [on('a'), on('b'), on('c')];
    const listen = { notifications: { toolsListChanged: true } };
    for (let count = 0; count < maxListenings; count++) {
      (count % 2 ? first : second).request('subscriptions/listen', listen);
    }
    await settled();
    const stream = third.request('subscriptions/listen', listen);
    await settled();
    expect(stream.answered.error?.data).toMatchObject({ code: 'overloaded' });
    const params = { name: 's__t', arguments: {} };
    for (let count = maxListenings; count < maxUnderWay; count++) {
      (count % 2 ? first : second).request('tools/call', params);
    }
    await settled();
    expect(third.request('tools/call', params).answered.error).toMatchObject({ code: -32603 });
    expect(gateway.kept['requests']).toBe(maxUnderWay);
    const principal = { id: 'token:other', role: 'a' };
    const other = modern({}, { principal, key: principal.id }).request('tools/call', params);
    await settled();
    expect(other.answers).toEqual([]);
  }, 20_000);

  it('of operations is bounded, whatever names a client invents #no-growth', async () => {
    const { modern, gateway } = newGateway({ s: echo, t: echo });
    const client = modern();
    for (let count = 0; count < 1_500; count++) {
      client.call(`s__${count}`);
      client.request(`vendor/${count}`);
      if (count % 100 === 0) await settled();
    }
    await settled();
    expect(gateway.host.traffic.snapshot().methods.length).toBeLessThan(10);
    expect(gateway.kept).toMatchObject({ requests: 0 });
  });
});
