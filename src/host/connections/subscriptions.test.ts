import { describe, expect, it } from 'vitest';
import { FakeUpstream } from '../../../test/support/fake-upstream.ts';
import { ManualClock, settled } from '../../../test/support/manual-clock.ts';
import { Fault } from '../../kernel/fault.ts';
import type { Supervisor } from '../../supervise/supervisor.ts';
import type { Connection } from '../../upstream/connection.ts';
import { bareClass, classOf } from './client-class.ts';
import { Subscriptions } from './subscriptions.ts';

/** Where a connection comes from, and who holds it. */
class FakeSupervisor {
  connection: FakeUpstream | undefined;
  held = 0;
  arrive: (connection: FakeUpstream) => void = () => {};
  readonly leases = {
    hold: () => {
      this.held += 1;
    },
    release: () => {
      this.held -= 1;
    },
  };

  acquire(): Promise<FakeUpstream> {
    return new Promise((resolve) => {
      this.arrive = resolve;
    });
  }
}

function newSubscriptions(connection?: FakeUpstream) {
  const clock = new ManualClock();
  const supervisor = new FakeSupervisor();
  supervisor.connection = connection;
  const subscriptions = new Subscriptions(
    clock,
    () => supervisor as unknown as Supervisor<Connection>,
    () => bareClass,
  );
  return { clock, supervisor, subscriptions };
}

const sent = ({ requests }: FakeUpstream) =>
  requests.map(({ method, members }) => `${method} ${members}`);
const listens = (connection: FakeUpstream) =>
  connection.requests.map(({ members }) => JSON.parse(`{${members}}`).notifications);

describe('a modern connection', () => {
  it('is listened on for each class of its clients, the oldest of too many is closed #classes', () => {
    const server = new FakeUpstream('modern', { tools: { listChanged: true } });
    const { subscriptions } = newSubscriptions(server);
    const clients = (at: number) => classOf(JSON.stringify({ extensions: { [`x/${at}`]: {} } }));
    subscriptions.connected(server);
    subscriptions.watchIfConnected('a');
    server.cancelled.length = 0;
    for (const at of [1, 2, 2, 3, 4, 5, 6, 7]) subscriptions.listenFor(server, clients(at));
    subscriptions.listenFor(server, bareClass);
    expect([listens(server).length, server.cancelled]).toEqual([9, []]);
    expect(listens(server).at(-1)).toEqual({ toolsListChanged: true });
    const unheard: string[] = [];
    subscriptions.unheard = ({ key }) => unheard.push(key);
    subscriptions.listenFor(server, clients(8));
    expect(unheard).toEqual([clients(1).key]);
    expect([listens(server).length, server.cancelled.length]).toEqual([10, 1]);
    subscriptions.listenFor(server, clients(1));
    expect(listens(server).length).toBe(11);
    const [, main] = server.requests;
    expect(main?.exchange.isSettled).toBe(false);
    // Nothing is opened on a connection that was replaced.
    subscriptions.ended(server);
    subscriptions.listenFor(server, clients(9));
    expect(listens(server).length).toBe(11);
  });

  it('is listened on before it takes calls, and anew only for what was wished meanwhile', () => {
    const server = new FakeUpstream('modern', { tools: { listChanged: true } });
    const { subscriptions } = newSubscriptions();
    subscriptions.connected(server);
    subscriptions.connected(server);
    expect(listens(server)).toEqual([{ toolsListChanged: true }]);
    const other = new FakeUpstream('modern', { tools: { listChanged: true } });
    subscriptions.connected(other);
    subscriptions.watchIfConnected('a');
    subscriptions.connected(other);
    expect(listens(other)).toEqual([
      { toolsListChanged: true },
      { toolsListChanged: true, resourceSubscriptions: ['a'] },
    ]);
  });
});

describe('a resource watched at a legacy server', () => {
  it('is subscribed to once for all, and no longer when the last has stopped', async () => {
    const server = new FakeUpstream();
    const { subscriptions, supervisor } = newSubscriptions(server);
    const first = subscriptions.watch('file:///"a"');
    server.answer('resources/subscribe', {});
    await first;
    await subscriptions.watch('file:///"a"');
    subscriptions.unwatch('file:///"a"');
    expect([sent(server), supervisor.held]).toEqual([
      ['resources/subscribe "uri":"file:///\\"a\\""'],
      1,
    ]);
    subscriptions.unwatch('file:///"a"');
    subscriptions.unwatch('file:///"a"');
    expect(server.methods).toEqual(['resources/subscribe', 'resources/unsubscribe']);
    expect(supervisor.held).toBe(0);
  });

  it('is subscribed to once when the server has to be started for it', async () => {
    const server = new FakeUpstream();
    const { subscriptions, supervisor } = newSubscriptions();
    const watching = subscriptions.watch('a');
    subscriptions.connected(server);
    supervisor.connection = server;
    supervisor.arrive(server);
    await settled();
    server.answer('resources/subscribe', {});
    await watching;
    expect(server.methods).toEqual(['resources/subscribe']);
  });

  it('is said once to a connection, whether it was wished before its lists were read or meanwhile', () => {
    const server = new FakeUpstream();
    const { subscriptions } = newSubscriptions();
    for (const uri of ['early', 'given up']) subscriptions.watchIfConnected(uri);
    subscriptions.connected(server);
    subscriptions.unwatchIfConnected('given up');
    subscriptions.watchIfConnected('late');
    subscriptions.connected(server);
    expect(sent(server)).toEqual([
      'resources/subscribe "uri":"early"',
      'resources/subscribe "uri":"given up"',
      'resources/subscribe "uri":"late"',
      'resources/unsubscribe "uri":"given up"',
    ]);
  });

  it('is subscribed to again on a new connection', async () => {
    const [old, young] = [new FakeUpstream(), new FakeUpstream()];
    const { subscriptions } = newSubscriptions(old);
    for (const uri of ['a', 'b']) {
      const watching = subscriptions.watch(uri);
      old.answer('resources/subscribe', {});
      await watching;
    }
    subscriptions.watchIfConnected('c');
    subscriptions.connected(young);
    expect(sent(young)).toEqual(['a', 'b', 'c'].map((uri) => `resources/subscribe "uri":"${uri}"`));
    young.lose();
    await settled();
  });

  it('that is refused is not watched, and the server is not held for it', async () => {
    const [server, young] = [new FakeUpstream(), new FakeUpstream()];
    const { subscriptions, supervisor } = newSubscriptions(server);
    const watching = subscriptions.watch('a');
    server.answer('resources/subscribe', { code: -32099, message: 'no' }, 'error');
    await expect(watching).rejects.toMatchObject({ code: 'rpc_error' });
    subscriptions.connected(young);
    expect([supervisor.held, young.methods]).toEqual([0, []]);
  });

  it('is only wished for without holding the server', () => {
    const { subscriptions, supervisor } = newSubscriptions();
    subscriptions.watchIfConnected('a');
    subscriptions.unwatchIfConnected('b');
    const server = new FakeUpstream();
    supervisor.connection = server;
    subscriptions.connected(server);
    subscriptions.unwatchIfConnected('a');
    expect(server.methods).toEqual(['resources/subscribe', 'resources/unsubscribe']);
    expect(supervisor.held).toBe(0);
  });
});

describe('a modern server', () => {
  const capabilities = {
    tools: { listChanged: true },
    prompts: {},
    resources: { subscribe: true },
  };

  it('is listened to on one stream, for what it can tell and what is watched', async () => {
    const server = new FakeUpstream('modern', capabilities);
    const { subscriptions } = newSubscriptions(server);
    subscriptions.connected(server);
    await subscriptions.watch('a');
    subscriptions.unwatch('a');
    expect(listens(server)).toEqual([
      { toolsListChanged: true },
      { toolsListChanged: true, resourceSubscriptions: ['a'] },
      { toolsListChanged: true },
    ]);
    const open = server.requests.filter(({ exchange }) => !exchange.isSettled);
    expect(open).toEqual([server.requests[2]]);
    expect(server.requests.every(({ exchange }) => exchange.isBackground)).toBe(true);
  });

  it('that can tell nothing is not listened to', () => {
    const server = new FakeUpstream('modern', { tools: {} });
    const { subscriptions } = newSubscriptions(server);
    subscriptions.connected(server);
    expect(server.methods).toEqual([]);
  });

  it('that ends its stream is listened to again after a second, unless it is gone by then', async () => {
    const server = new FakeUpstream('modern', capabilities);
    const { subscriptions, clock } = newSubscriptions(server);
    subscriptions.connected(server);
    server.answer('subscriptions/listen', {});
    await clock.advanceAsync(999);
    expect(server.requests.length).toBe(1);
    await clock.advanceAsync(1);
    expect(server.requests.length).toBe(2);
    server.answer('subscriptions/listen', {});
    await settled();
    server.isLost = true;
    await clock.advanceAsync(10_000);
    expect(server.requests.length).toBe(2);
  });

  it('whose stream ends in any other way is listened to again, too, unless that was our doing #list-news', async () => {
    const server = new FakeUpstream('modern', capabilities);
    const { subscriptions, clock } = newSubscriptions(server);
    subscriptions.connected(server);
    // Over HTTP a stream may end without a result, or bring what cannot be read.
    server.requests[0]?.exchange.fail(new Fault('unavailable', 'ended without a result'));
    await clock.advanceAsync(1_000);
    expect(server.requests.length).toBe(2);
    subscriptions.watchIfConnected('a');
    await clock.advanceAsync(60_000);
    expect([server.requests.length, clock.pending]).toEqual([3, 0]);
    server.lose();
    await clock.advanceAsync(60_000);
    expect([server.requests.length, clock.pending]).toEqual([3, 0]);
  });

  it('that ends its stream at once is listened to again later each time, and soon after a stretch of health', async () => {
    const server = new FakeUpstream('modern', capabilities);
    const { subscriptions, clock } = newSubscriptions(server);
    subscriptions.connected(server);
    const pausedMs = async (listened = server) => {
      const [before, endedAt] = [listened.requests.length, clock.now()];
      listened.answer('subscriptions/listen', {});
      while (listened.requests.length === before) await clock.advanceAsync(1_000);
      return clock.now() - endedAt;
    };
    const pauses: number[] = [];
    for (let ends = 0; ends < 8; ends += 1) pauses.push(await pausedMs());
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => seconds * 1_000));
    await clock.advanceAsync(30_000);
    expect(await pausedMs()).toBe(1_000);
    expect(await pausedMs()).toBe(2_000);
    const next = new FakeUpstream('modern', capabilities);
    subscriptions.connected(next);
    expect(await pausedMs(next)).toBe(1_000);
  });

  it('that ends its stream is listened to at once when another resource is watched, and not twice', async () => {
    const server = new FakeUpstream('modern', capabilities);
    const { subscriptions, clock } = newSubscriptions(server);
    subscriptions.connected(server);
    server.answer('subscriptions/listen', {});
    await settled();
    subscriptions.watchIfConnected('file:///a');
    expect(server.requests.length).toBe(2);
    await clock.advanceAsync(10_000);
    expect([server.requests.length, clock.pending]).toEqual([2, 0]);
  });

  it('that refuses to be listened to is not asked every second', async () => {
    const server = new FakeUpstream('modern', capabilities);
    const { subscriptions, clock } = newSubscriptions(server);
    subscriptions.connected(server);
    server.answer('subscriptions/listen', { code: -32601, message: '' }, 'error');
    await clock.advanceAsync(60_000);
    expect([server.requests.length, clock.pending]).toEqual([1, 0]);
  });
});

describe('a second client that watches a resource at a legacy server', () => {
  it('is confirmed only when the server has confirmed it', async () => {
    const server = new FakeUpstream();
    const { subscriptions } = newSubscriptions(server);
    const told: string[] = [];
    void subscriptions.watch('file:///a').then(() => told.push('first'));
    await settled();
    void subscriptions.watch('file:///a').then(() => told.push('second'));
    await settled();
    expect([told, server.methods]).toEqual([[], ['resources/subscribe']]);
    server.answer('resources/subscribe', {});
    await settled();
    expect(told).toEqual(['first', 'second']);
  });

  it('gets the same refusal, and nothing of either is left; the next one asks again', async () => {
    const server = new FakeUpstream();
    const { subscriptions, supervisor } = newSubscriptions(server);
    const both = ['a', 'b'].map(() =>
      subscriptions.watch('file:///a').catch((fault) => fault.code),
    );
    await settled();
    server.answer('resources/subscribe', { code: -32602, message: 'no' }, 'error');
    expect(await Promise.all(both)).toEqual(['rpc_error', 'rpc_error']);
    expect([supervisor.held, subscriptions.size]).toEqual([0, 0]);
    void subscriptions.watch('file:///a');
    await settled();
    expect(server.methods).toEqual(['resources/subscribe', 'resources/subscribe']);
  });
});
