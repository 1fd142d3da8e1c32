import { describe, expect, it } from 'vitest';
import { newGateway, type RecordedReply, settled } from '../../test/support/fake-gateway.ts';
import { rooted, rootsOf, rootsTold, seconds } from '../../test/support/rooted-server.ts';
import {
  ErrorAnswer,
  type Script,
  type ScriptedChild,
  text,
  tool,
} from '../../test/support/scripted-server.ts';

const echo: Script = {
  tools: [tool('t')],
  prompts: [{ name: 'p' }],
  resources: [{ uri: 'file:///r', name: 'r' }],
  on: {
    'tools/call': () => text('hi'),
    'resources/read': () => ({ contents: [{ uri: 'file:///r', text: 'read' }] }),
    'resources/subscribe': () => ({}),
    'resources/unsubscribe': () => ({}),
  },
};
const onlyTools: Script = { capabilities: { tools: {} }, tools: [tool('t')], on: echo.on ?? {} };
const changes = ['tools', 'prompts', 'resources'].map(
  (kind) => `notifications/${kind}/list_changed`,
);

const entry = (more: object = {}) => ({ command: '/bin/x', ...more });

const names = (reply: RecordedReply, list = 'tools', key = 'name') =>
  (reply.result[list] as Record<string, unknown>[]).map((one) => one[key]);

function newWorld(
  scripts: Readonly<Record<string, Script>>,
  options: { settings?: object; undeclared?: Script; config?: Record<string, object> } = {},
) {
  const { settings = {}, undeclared = echo, config = {} } = options;
  const servers = Object.keys(scripts);
  const entries = Object.fromEntries(servers.map((name) => [name, entry(config[name])]));
  const world = newGateway(scripts, {
    settings: settings as Record<string, unknown>,
    undeclared,
    config: entries,
  });
  const { host, clock } = world;
  const base = { hostTools: false, ...settings };
  /** Applied, ended what had to end, and told. */
  const apply = async (mcpServers: Readonly<Record<string, object>>, more: object = {}) => {
    const applied = host.apply({ ...base, ...more, mcpServers: mcpServers as never });
    await settled();
    await clock.advanceAsync(20);
    await settled();
    return applied;
  };
  const list = async (peer: { request(method: string): RecordedReply }, method = 'tools/list') => {
    const reply = peer.request(method);
    await settled();
    return reply;
  };
  return { ...world, apply, list };
}

describe('a server that comes while the gateway runs', () => {
  it('by spawn is listed, announced and called #live-config', async () => {
    const { host, legacy, clock, list } = newWorld({ a: echo });
    const peer = legacy();
    expect(names(await list(peer))).toEqual(['a__t']);
    expect(names(await list(peer, 'resources/list'), 'resources', 'uri')).toEqual(['file:///r']);
    await host.spawn({ name: 'b', command: '/bin/b' });
    await clock.advanceAsync(20);
    await settled();
    expect(peer.methods()).toEqual(expect.arrayContaining(changes));
    const call = peer.request('tools/call', { name: 'b__t', arguments: {} });
    expect(names(await list(peer))).toEqual(['a__t', 'b__t']);
    expect(call.result).toMatchObject(text('hi'));
    const uris = names(await list(peer, 'resources/list'), 'resources', 'uri');
    expect(uris).toEqual(['file:///r', expect.stringContaining('file:///r')]);
    expect(new Set(uris).size).toBe(2);
  });

  it('by another config is in its place, for clients of both eras #live-config', async () => {
    const { apply, legacy, modern, list } = newWorld({ a: echo, b: echo });
    const peer = legacy();
    const client = modern();
    const listen = client.request('subscriptions/listen', {
      notifications: { toolsListChanged: true, resourcesListChanged: true },
    });
    expect(names(await list(peer))).toEqual(['a__t', 'b__t']);
    expect(names(await list(client))).toEqual(['a__t', 'b__t']);
    await apply({ a: entry(), n: entry(), b: entry() });
    expect(peer.methods()).toEqual(expect.arrayContaining(changes));
    const told = listen.messages.map(({ method }) => method);
    expect(told).toContain('notifications/tools/list_changed');
    expect(told).toContain('notifications/resources/list_changed');
    expect(names(await list(peer))).toEqual(['a__t', 'n__t', 'b__t']);
    expect(names(await list(client))).toEqual(['a__t', 'n__t', 'b__t']);
    const call = client.call('n__t');
    await settled();
    expect(call.result).toMatchObject(text('hi'));
    expect(names(await list(peer, 'prompts/list'), 'prompts')).toEqual(['a__p', 'n__p', 'b__p']);
  });

  it('is announced where it says it has something, if that is kept #live-config', async () => {
    const { apply, legacy, list } = newWorld({ a: echo }, { undeclared: onlyTools });
    const peer = legacy();
    await list(peer);
    await apply({ a: entry(), n: entry({ args: ['n'] }) });
    expect(new Set(peer.methods())).toEqual(new Set(changes));
    await list(peer);
    await apply({ a: entry() });
    const before = peer.methods().length;
    await apply({ a: entry(), n: entry({ args: ['n'] }) });
    expect(new Set(peer.methods().slice(before))).toEqual(new Set([changes[0]]));
    expect(names(await list(peer))).toEqual(['a__t', 'n__t']);
  });

  it('is shown as it was kept, also to those who list while that is read #live-config', async () => {
    const { store, legacy: earlier } = newGateway({ b: echo }, { config: { b: entry() } });
    earlier().request('tools/list');
    await settled();
    const records = store.records('catalogues', { durability: 'forgetful' });
    const get = records.get.bind(records);
    let read = () => {};
    const reading = new Promise<void>((resolve) => {
      read = resolve;
    });
    const on = { ...echo.on, 'tools/list': () => undefined };
    const { host, legacy, servers, clock } = newGateway(
      { a: { ...echo, on } },
      { store, undeclared: { on: { initialize: () => undefined } } },
    );
    const peer = legacy();
    const list = peer.request('tools/list');
    await settled();
    records.get = (key) => reading.then(() => get(key));
    const a = { command: '/bin/a' };
    const applied = host.apply({ hostTools: false, mcpServers: { a, b: entry() } as never });
    await settled();
    servers.a.child.answer(servers.a.child.last('tools/list'), { tools: [tool('t')] });
    await settled();
    expect(names(list)).toEqual(['a__t']);
    read();
    await applied;
    await settled();
    await clock.advanceAsync(20);
    expect(peer.methods()).toContain(changes[0]);
    const again = peer.request('tools/list');
    await settled();
    expect(names(again)).toEqual(['a__t', 'b__t']);
  });

  it('takes no name that is assigned to another, although it is before it in the config #live-config', async () => {
    const settings = { naming: 'transparent' };
    const { apply, legacy, list, servers, host } = newWorld({ a: echo }, { settings });
    const peer = legacy();
    expect(names(await list(peer))).toEqual(['t']);
    await apply({ n: entry(), a: entry() });
    expect(names(await list(peer))).toEqual(['t']);
    const call = peer.request('tools/call', { name: 't', arguments: {} });
    await settled();
    expect(call.result).toMatchObject(text('hi'));
    expect(servers['a']?.heard('tools/call')).toHaveLength(1);
    const cause = host.status().servers.find(({ name }) => name === 'n')?.cause;
    expect(cause).toContain('not offered');
    // The name is free when its owner is gone.
    await apply({ n: entry() });
    expect(names(await list(peer))).toEqual(['t']);
    expect(host.status().servers.find(({ name }) => name === 'n')?.cause).toBeNull();
  });

  it('leaves what the only server has returned with that one #live-config', async () => {
    const linked = { content: [{ type: 'resource_link', uri: 'row:7', name: 'row' }] };
    const on = { ...echo.on, 'tools/call': () => linked };
    const { apply, legacy, servers } = newWorld({ a: { ...echo, on } });
    const peer = legacy();
    peer.request('tools/call', { name: 'a__t', arguments: {} });
    await settled();
    await apply({ a: entry(), n: entry() });
    const read = peer.request('resources/read', { uri: 'row:7' });
    await settled();
    expect(read.answered.error).toBeUndefined();
    expect(servers['a']?.heard('resources/read')).toHaveLength(1);
  });
});

describe('a server that goes while the gateway runs', () => {
  it('is in no list, and those that had it are announced #live-config', async () => {
    const { apply, legacy, modern, list } = newWorld({ a: echo, b: onlyTools });
    const peer = legacy();
    await list(peer);
    await apply({ a: entry() });
    expect(peer.methods()).toEqual([changes[0]]);
    expect(names(await list(peer))).toEqual(['a__t']);
    const call = peer.request('tools/call', { name: 'b__t', arguments: {} });
    const other = modern().call('b__t');
    await settled();
    expect(call.answered.error?.message).toContain('b__t');
    expect(other.answered.error?.code).toBe(-32602);
  });

  it('lets the calls under way end with their answer #live-config', async () => {
    const wraps = { ...tool('t'), outputSchema: { anyOf: [{ type: 'object' }] } };
    const on = { ...echo.on, 'tools/call': () => undefined };
    const { apply, host, legacy, servers, list } = newWorld({
      a: echo,
      b: { ...echo, tools: [wraps], on },
    });
    const peer = legacy();
    await list(peer);
    const call = peer.request('tools/call', { name: 'b__t', arguments: {} });
    await settled();
    const applied = apply({ a: entry() });
    await settled();
    const child = servers['b']?.child;
    const link = { type: 'resource_link', uri: 'file:///r', name: 'r' };
    child?.answer(child.last('tools/call'), { content: [link], structuredContent: { x: 1 } });
    await applied;
    // In the words that were promised to the client, and no address that is another's now.
    expect(call.result['structuredContent']).toEqual({ result: { x: 1 } });
    const [shown] = call.result['content'] as { uri: string }[];
    expect(shown?.uri).not.toBe('file:///r');
    expect(host.known('b')).toBeUndefined();
  });

  it('is watched by nobody any more #live-config', async () => {
    const { apply, legacy, servers, list } = newWorld({ a: echo });
    const peer = legacy();
    await list(peer, 'resources/list');
    const watch = peer.request('resources/subscribe', { uri: 'file:///r' });
    await settled();
    expect(watch.result).toEqual({});
    await apply({});
    expect(servers['a']?.child.isGone).toBe(true);
    await apply({ a: entry() });
    await list(peer, 'resources/list');
    // It comes back as a stranger: whoever wants to watch it says so.
    expect(servers['a']?.children).toHaveLength(1);
    const again = peer.request('resources/subscribe', { uri: 'file:///r' });
    await settled();
    expect(again.result).toEqual({});
    expect(servers['a']?.children).toHaveLength(2);
    expect(servers['a']?.child.heardAs('resources/subscribe')).toHaveLength(1);
  });
});

describe('a server that changes while the gateway runs', () => {
  it('ends a call under way with its answer, and shows what it offers then #live-config', async () => {
    const wraps = { ...tool('t'), outputSchema: { anyOf: [{ type: 'object' }] } };
    const on = { ...echo.on, 'tools/call': () => undefined };
    const { apply, legacy, servers, list } = newWorld({ a: { ...echo, tools: [wraps], on } });
    const peer = legacy();
    await list(peer);
    const call = peer.request('tools/call', { name: 'a__t', arguments: {} });
    await settled();
    if (servers['a']) servers['a'].script = { ...echo, tools: [tool('t'), tool('u')] };
    const applied = apply({ a: entry({ args: ['2'] }) });
    await settled();
    const [first] = servers['a']?.children ?? [];
    first?.answer(first.last('tools/call'), { ...text('old'), structuredContent: { x: 1 } });
    await applied;
    // In the words that were promised to the client.
    expect(call.result).toMatchObject({ ...text('old'), structuredContent: { result: { x: 1 } } });
    expect(peer.methods()).toEqual(expect.arrayContaining(changes));
    expect(names(await list(peer))).toEqual(['a__t', 'a__u']);
    expect([first?.isGone, servers['a']?.children.length]).toEqual([true, 2]);
  });

  it('shows its tools under the names that the config gives them now #live-config', async () => {
    const { apply, legacy, servers, list } = newWorld({ a: echo });
    const peer = legacy();
    await list(peer);
    await apply({ a: entry({ tools: { t: { as: 'mine' } } }) });
    expect(peer.methods()).toEqual([changes[0]]);
    expect(names(await list(peer))).toEqual(['mine']);
    await apply({ a: entry({ tools: { t: { hidden: true } } }) });
    expect(names(await list(peer))).toEqual([]);
    expect(servers['a']?.children).toHaveLength(1);
  });

  it('is watched on its new connection #live-config', async () => {
    const { apply, legacy, servers, list } = newWorld({ a: echo });
    const peer = legacy();
    await list(peer, 'resources/list');
    peer.request('resources/subscribe', { uri: 'file:///r' });
    await settled();
    await apply({ a: entry({ args: ['2'] }) });
    await settled();
    const second = servers['a']?.child;
    expect(servers['a']?.children).toHaveLength(2);
    expect(second?.heardAs('resources/subscribe')).toHaveLength(1);
    second?.note('notifications/resources/updated', { uri: 'file:///r' });
    await settled();
    expect(peer.methods()).toContain('notifications/resources/updated');
  });

  it.each([
    ['auto', 'client', 2],
    ['client', 'shared', 1],
    ['client', 'auto', 1],
  ])(
    'gives clients other connections when isolation goes from %s to %s #live-config',
    async (from, to, count) => {
      const config = { a: { isolation: from } };
      const { apply, legacy, servers, host } = newWorld({ a: echo }, { config });
      const peers = [legacy(), legacy()];
      for (const peer of peers) {
        peer.request('tools/call', { name: 'a__t', arguments: {} });
        peer.request('resources/subscribe', { uri: 'file:///r' });
      }
      await settled();
      await apply({ a: entry({ isolation: to }) });
      const calls = peers.map((peer) =>
        peer.request('tools/call', { name: 'a__t', arguments: {} }),
      );
      await settled();
      for (const call of calls) expect(call.result).toMatchObject(text('hi'));
      const running = servers['a']?.children.filter(({ isGone }) => !isGone) ?? [];
      expect(running).toHaveLength(count);
      for (const child of running) {
        expect(child.heardAs('resources/subscribe')).toHaveLength(1);
        child.note('notifications/resources/updated', { uri: 'file:///r' });
      }
      await settled();
      for (const peer of peers) {
        const heard = peer
          .methods()
          .filter((method) => method === 'notifications/resources/updated');
        expect(heard).toHaveLength(1);
        peer.session.close();
      }
      await settled();
      expect(host.find('a').slots.current.subscriptions.size).toBe(0);
    },
  );

  it('lets calls that wait go on with another connection when isolation changes #live-config', async () => {
    const on = { ...echo.on, 'tools/call': () => undefined };
    const config = { a: { isolation: 'client', concurrency: 1 } };
    const { apply, legacy, servers, clock } = newWorld({ a: { ...echo, on } }, { config });
    const calls = [legacy(), legacy()].map((peer) =>
      peer.request('tools/call', { name: 'a__t', arguments: {} }),
    );
    await settled();
    if (servers['a']) servers['a'].script = echo;
    const applied = apply({ a: entry({ isolation: 'shared', concurrency: 1 }) });
    await settled();
    const [first] = servers['a']?.children ?? [];
    first?.answer(first.last('tools/call'), text('old'));
    await applied;
    await clock.advanceAsync(1_000);
    expect(calls.map(({ result }) => result)).toMatchObject([text('old'), text('hi')]);
  });

  it('lets whoever waits for a start wait for another when isolation changes #live-config', async () => {
    const { legacy, servers, clock, apply } = newWorld(
      { a: echo },
      { config: { a: { isolation: 'client' } } },
    );
    const peer = legacy();
    peer.request('resources/list');
    await settled();
    await clock.advanceAsync(600_000);
    expect(servers['a']?.children.every(({ isGone }) => isGone)).toBe(true);
    const on = { ...echo.on, initialize: () => undefined, 'server/discover': () => undefined };
    if (servers['a']) servers['a'].script = { ...echo, on };
    const call = peer.request('tools/call', { name: 'a__t', arguments: {} });
    const watch = peer.request('resources/subscribe', { uri: 'file:///r' });
    await settled();
    if (servers['a']) servers['a'].script = echo;
    await apply({ a: entry({ isolation: 'shared' }) });
    await clock.advanceAsync(1_000);
    expect(call.result).toMatchObject(text('hi'));
    expect(watch.result).toEqual({});
    expect(servers['a']?.child.heardAs('resources/subscribe')).toHaveLength(1);
  });

  it.each([
    ['auto', 'client', 'session-1'],
    ['client', 'shared', null],
  ])(
    'watches where calls go what is confirmed while isolation goes from %s to %s #live-config',
    async (from, to, owner) => {
      const on = { ...echo.on, 'resources/subscribe': () => undefined };
      const config = { a: { isolation: from } };
      const { apply, legacy, servers, host, clock } = newWorld({ a: { ...echo, on } }, { config });
      const peer = legacy();
      const watch = peer.request('resources/subscribe', { uri: 'file:///r' });
      await settled();
      if (servers['a']) servers['a'].script = echo;
      const applied = apply({ a: entry({ isolation: to }) });
      await settled();
      const [first] = servers['a']?.children ?? [];
      first?.answer(first.last('resources/subscribe'), {});
      await applied;
      await clock.advanceAsync(600_000);
      expect(watch.result).toEqual({});
      const { slots } = host.find('a');
      const running = [...slots.all()].filter(({ supervisor }) => supervisor.connection);
      expect(running.map((slot) => slot.owner)).toEqual([owner]);
      peer.session.close();
      await settled();
      expect([...slots.all()].map((slot) => slot.supervisor.leases.held)).toEqual([0]);
    },
  );

  it('has ended only when the connections of single clients have #live-config', async () => {
    const on = { ...echo.on, 'tools/call': () => undefined };
    const config = { a: { isolation: 'client' } };
    const { apply, legacy, servers, host, clock } = newWorld({ a: { ...echo, on } }, { config });
    legacy().request('tools/call', { name: 'a__t', arguments: {} });
    await settled();
    const applied = apply({ a: entry({ isolation: 'shared' }) });
    await settled();
    const ended = host.close().then(() => servers['a']?.children.map(({ isGone }) => isGone));
    await clock.advanceAsync(10_000);
    expect(await ended).toEqual([true]);
    await applied;
  });

  it('makes no connection any more if a program replaces it at the same time #live-config', async () => {
    const { apply, legacy, servers, host, clock, list } = newWorld({ a: echo });
    const peer = legacy();
    await list(peer, 'resources/list');
    peer.request('resources/subscribe', { uri: 'file:///r' });
    await settled();
    const replaced = host.spawn({ name: 'a', command: '/bin/y', lazy: true });
    await apply({ a: entry({ isolation: 'client' }) });
    await Promise.all([replaced, clock.advanceAsync(10_000)]);
    expect(servers['a']?.children.map(({ isGone }) => isGone)).toEqual([true]);
  });

  it('tells nobody else what a former connection of one client says #live-config #own-roots', async () => {
    const on = { ...echo.on, ...rooted.on, 'tools/call': () => undefined };
    const { apply, legacy, servers, clock } = newWorld({ a: { ...echo, on } });
    const [ann, bob] = [legacy({ roots: {} }), legacy({ roots: {} })];
    const call = ann.request('tools/call', { name: 'a__t', arguments: {} });
    const answer = [rootsOf(ann, 'file:///ann', call), rootsOf(bob, 'file:///bob')];
    await seconds(2, clock, ...answer);
    for (const peer of [ann, bob]) peer.request('resources/subscribe', { uri: 'file:///r' });
    await seconds(2, clock, ...answer);
    const [first] = servers['a']?.children ?? [];
    expect(rootsTold(first as ScriptedChild)).toContain('file:///ann');
    await Promise.all([
      apply({ a: entry({ isolation: 'client' }) }),
      settled().then(() => {
        expect(first?.isGone).toBe(false);
        first?.note('notifications/resources/updated', { uri: 'file:///r' });
        first?.answer(first.last('tools/call'), text('done'));
      }),
    ]);
    expect(ann.methods()).toContain('notifications/resources/updated');
    expect(bob.methods()).not.toContain('notifications/resources/updated');
  });

  it('keeps the order of the config when only that has changed #live-config', async () => {
    const { apply, legacy, list, servers } = newWorld({ a: echo, b: echo });
    const peer = legacy();
    expect(names(await list(peer))).toEqual(['a__t', 'b__t']);
    const uris = names(await list(peer, 'resources/list'), 'resources', 'uri');
    const done = await apply({ b: entry(), a: entry() });
    expect(done).toMatchObject({ order: true, changed: [] });
    expect(peer.methods()).toEqual(expect.arrayContaining(changes));
    expect(names(await list(peer))).toEqual(['b__t', 'a__t']);
    const after = names(await list(peer, 'resources/list'), 'resources', 'uri');
    expect(after).toEqual(uris.toReversed());
    expect(servers['a']?.children).toHaveLength(1);
  });
});

describe('settings of a gateway that runs', () => {
  it('that apply live are seen by its clients #live-config', async () => {
    const { apply, legacy, list } = newWorld({ a: echo });
    const peer = legacy();
    await list(peer);
    await apply({ a: entry() }, { hostTools: true });
    expect(peer.methods()).toEqual([changes[0]]);
    expect(names(await list(peer))).toContain('holdfast__health_snapshot');
    await apply({ a: entry() }, { surface: 'search' });
    expect(names(await list(peer))).toEqual(['search_tools', 'describe_tool', 'call_tool']);
    await apply({ a: entry() }, { naming: 'transparent' });
    expect(names(await list(peer))).toEqual(['a__t']);
  });
});

describe('what is kept of servers that came and went', () => {
  it('is nothing of one whose lists could not be read #no-growth #live-config', async () => {
    const refusing: Script = {
      on: { 'tools/list': () => new ErrorAnswer({ code: -32_000, message: 'no' }) },
    };
    const { apply, gateway, legacy, list } = newWorld({ a: echo, b: refusing });
    await apply({ a: entry() });
    const peer = legacy();
    await list(peer);
    const before = gateway.view.keptOfServers;
    await apply({ a: entry(), b: entry() });
    await list(peer);
    expect(gateway.view.keptOfServers).not.toEqual(before);
    await apply({ a: entry() });
    await list(peer);
    expect(gateway.view.keptOfServers).toEqual(before);
  });

  it('is nothing: a thousand leave what was there before #no-growth #live-config', async () => {
    const { apply, host, gateway, legacy, list, others } = newWorld({ a: echo });
    const peer = legacy();
    await list(peer);
    await list(peer, 'resources/list');
    await list(peer, 'prompts/list');
    const kept = () => ({
      ...gateway.kept,
      composed: 0,
      lists: gateway.view.keptOfServers,
      servers: host.servers().length,
      operations: host.traffic.snapshot().methods.filter(({ method }) => method !== 'other').length,
    });
    const own = peer.request('tools/call', { name: 'a__t', arguments: {} });
    await settled();
    expect(own.result).toMatchObject(text('hi'));
    const before = kept();
    for (let round = 0; round < 20; round++) {
      const some = Array.from({ length: 50 }, (_, n) => [
        `s${round}-${n}`,
        entry({ args: [`${round} ${n}`] }),
      ]);
      await apply({ a: entry(), ...Object.fromEntries(some) });
      // A list, or a name that nobody knows, starts all of them: that takes long.
      expect(await host.call(`s${round}-7`, 't')).toMatchObject(text('hi'));
      if (round % 10 > 0) continue;
      const call = peer.request('tools/call', { name: `s${round}-8__t`, arguments: {} });
      peer.request('resources/subscribe', { uri: 'file:///r' });
      expect(names(await list(peer)).length).toBeGreaterThan(1);
      expect(call.result).toMatchObject(text('hi'));
    }
    await apply({ a: entry() });
    await list(peer);
    expect(kept()).toEqual(before);
    expect(others?.children.every(({ isGone }) => isGone)).toBe(true);
    expect(host.defects.total).toBe(0);
  }, 30_000);
});
