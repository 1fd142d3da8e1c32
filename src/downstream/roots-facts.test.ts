// What the gateway learns about how a server asks for roots, and what that saves: a list that is not
// read again, a wait that is not repeated, a question before the call instead of in it. Real gateway
// and host, scripted servers, manual clock.

import { describe, expect, it } from 'vitest';
import { settled } from '../../test/support/fake-gateway.ts';
import { asksFirst, asksOnce, asksToList, newPrograms } from '../../test/support/modern-program.ts';
import { rooted, rootsOf, rootsTold, seconds } from '../../test/support/rooted-server.ts';
import { type Script, text, tool } from '../../test/support/scripted-server.ts';

/** Asks in every call, and says what it was told. */
const inCalls: Script = {
  tools: [tool('a')],
  on: {
    'tools/call': (heard, child) => asksFirst(1, heard, child, () => text(rootsTold(child))),
  },
};

describe('the lists of a server', () => {
  it('are not read again because it is told the same roots again #roots', async () => {
    const world = newPrograms(inCalls);
    const peer = world.legacy({ roots: {} });
    const read = async () => {
      const list = peer.request('tools/list');
      await seconds(2, world.clock, rootsOf(peer, 'file:///one', list));
      return world.servers.s.heard('tools/list').length;
    };
    const call = async (uri: string, x: number) => {
      const reply = peer.request('tools/call', { name: 's__a', arguments: { x } });
      await seconds(2, world.clock, rootsOf(peer, uri, reply));
      expect(JSON.stringify(reply.result)).toContain(uri);
    };
    await call('file:///one', 1);
    const first = await read();
    await call('file:///one', 2);
    expect(await read()).toBe(first);
    await call('file:///two', 3);
    expect(await read()).toBeGreaterThan(first);
  });
});

describe('a server that lists nothing before it was told roots', () => {
  it('has them without delay in later runs #roots', async () => {
    const first = newPrograms(asksToList);
    const one = first.legacy({ roots: {} });
    const call = one.request('tools/call', { name: 's__a' });
    await seconds(5, first.clock, rootsOf(one, 'file:///one', call));
    expect(JSON.stringify(call.result)).toContain('file:///one');
    const later = newPrograms(asksToList, { store: first.store });
    const other = later.legacy({ roots: {} });
    const again = other.request('tools/call', { name: 's__a' });
    const answering = rootsOf(other, 'file:///other', again);
    for (let turn = 0; turn < 50; turn += 1) {
      answering();
      await settled();
    }
    expect(rootsTold(later.servers.s.child)).toContain('file:///other');
  });
});

describe('the lists of a server that asks each client first', () => {
  it('are kept for each class of clients, so that a later run need not start it #own-roots', async () => {
    const classes = [{ roots: {} }, { roots: {}, sampling: {} }];
    const listed = async (world: ReturnType<typeof newPrograms>) => {
      for (const capabilities of classes) {
        const peer = world.legacy(capabilities);
        const list = peer.request('tools/list');
        await seconds(5, world.clock, rootsOf(peer, 'file:///one', list));
        expect(JSON.stringify(list.result)).toContain('s__a');
      }
      return world;
    };
    const { store } = await listed(newPrograms(asksToList));
    const later = await listed(newPrograms(asksToList, { store }));
    expect(later.servers.s.children).toEqual([]);
  });
});

describe('a server that asks only when it is asked for its lists', () => {
  const onlyToList: Script = {
    ...asksToList,
    on: { ...asksToList.on, 'notifications/roots/list_changed': () => undefined },
  };

  it('is found out, also by a later run, and does not make calls wait at its start #roots', async () => {
    const first = newPrograms(onlyToList);
    for (const time of [1, 2, 3]) {
      first.modern({ roots: {} }).request('tools/list');
      await seconds(3, first.clock);
      await first.withRoots('file:///one')('s__a', { time });
      await seconds(400, first.clock);
    }
    const known = { asksAtStart: false, asksForLists: true };
    expect(first.host.find('s').facts.now).toMatchObject(known);
    const later = newPrograms(onlyToList);
    later.host.find('s').facts.learn({ ...first.host.find('s').facts.now });
    await later.withRoots('file:///one')('s__a');
    expect(later.servers.s.heard('tools/list').length).toBeGreaterThan(0);
    expect(later.host.find('s').facts.now).toMatchObject(known);
  });
});

describe('a later run', () => {
  it('asks a modern program before its first call, without a list before it #roots', async () => {
    const first = newPrograms(rooted);
    await first.withRoots('file:///one')('s__a');
    await seconds(3, first.clock);
    const later = newPrograms(rooted, { store: first.store });
    const call = later.modern({ roots: {} }).call('s__a');
    await settled();
    expect(call.result).toMatchObject({ resultType: 'input_required' });
    expect(later.servers.s.heard('tools/call')).toEqual([]);
  });
});

describe('what was found out about kept roots', () => {
  it('is not undone by a shorter look on another connection #own-roots', async () => {
    const world = newPrograms(asksOnce);
    const { facts, slots } = world.host.find('s');
    facts.learn({ modern: false, asksRoots: true });
    slots.foundAsking();
    const first = await Promise.all([
      world.withRoots('file:///one')('s__a', { at: 1 }),
      world.withRoots('file:///two')('s__a', { at: 2 }),
    ]);
    expect(first.map(({ said }) => said)).toEqual([
      expect.stringContaining('file:///one'),
      expect.stringContaining('file:///two'),
    ]);
    expect(facts.now.keepsRoots).toBe(undefined);
    const peer = world.modern({ roots: {} });
    const again = peer.call('s__a', { at: 3 });
    await seconds(0.4, world.clock);
    const third = peer.call('s__a', { at: 4 });
    const known: unknown[] = [];
    for (let at = 0; at < 8; at += 1) {
      await seconds(0.1, world.clock);
      known.push([facts.now.keepsRoots, again.answers.length, third.answers.length]);
    }
    // It was known before this one was sent that the server keeps roots.
    expect(known).toContainEqual([true, 1, 0]);
    expect(third.result['resultType']).toBe('input_required');
  });
});

describe('a call that waits for its server when that is configured anew', () => {
  it('has its roots on the new connection #own-roots', async () => {
    let isSlow = false;
    const slow: Script = {
      ...rooted,
      on: {
        ...rooted.on,
        'tools/list': () => (isSlow ? undefined : { tools: [tool('a')] }),
      },
    };
    const world = newPrograms(slow);
    expect((await world.withRoots('file:///one')('s__a', { at: 1 })).said).toContain('file:///one');
    await seconds(400, world.clock);
    expect(world.children()).toHaveLength(0);
    isSlow = true;
    const call = world.withRoots('file:///one')('s__a', { at: 2 });
    for (let turn = 0; turn < 20 && world.children().length === 0; turn += 1)
      await seconds(0.1, world.clock);
    expect(world.children()).toHaveLength(1);
    isSlow = false;
    const server = world.host.find('s');
    const restarted = server.restart({ ...server.config });
    const { said } = await call;
    await restarted;
    expect(said).toContain('file:///one');
  });
});

/** Asks at its start only. From the 20th process on it does not start: the test must end. */
function onlyAtStart(): Script {
  let starts = 0;
  return {
    ...rooted,
    on: {
      ...rooted.on,
      'notifications/roots/list_changed': () => undefined,
      'tools/list': () => {
        starts += 1;
        return starts < 20 ? { tools: rooted.tools } : undefined;
      },
    },
  };
}

describe('a server that asks only at its start, and two clients that call at the same moment', () => {
  it.each(['shared', 'auto'] as const)(
    'is not started again and again (%s) #roots',
    async (isolation) => {
      const first = newPrograms(onlyAtStart(), { config: { s: { isolation } } });
      // A list first: the server is started before a client is there that could be asked.
      first.modern({ roots: {} }).request('tools/list');
      await seconds(3, first.clock);
      const before = first.legacy({ roots: {} });
      const call = before.request('tools/call', { name: 's__a', arguments: {} });
      await seconds(10, first.clock, rootsOf(before, 'file:///one', call));
      const { facts } = first.host.find('s');
      expect(facts.now).toMatchObject({ asksAtStart: true, asksAfterRootsChange: false });
      const { store } = first;
      const later = newPrograms(onlyAtStart(), { store, config: { s: { isolation } } });
      const peers = [later.legacy({ roots: {} }), later.legacy({ roots: {} })];
      const calls = peers.map((peer, at) =>
        peer.request('tools/call', { name: 's__a', arguments: { at } }),
      );
      await seconds(
        20,
        later.clock,
        ...calls.map((asked, at) => rootsOf(peers[at] ?? later.legacy(), `file:///${at}`, asked)),
      );
      expect(later.servers.s.children.length).toBeLessThanOrEqual(2);
      const [one, other] = calls.map(({ result }) => JSON.stringify(result));
      expect(one).toContain('file:///0');
      expect(other).toContain(isolation === 'shared' ? 'file:///0' : 'file:///1');
    },
  );
});

describe('a server that is busy for a while when it has been started', () => {
  const busy: Script = {
    ...rooted,
    on: {
      ...rooted.on,
      initialize: (_heard, child) => {
        child.stopReading();
        const serverInfo = { name: 'busy', version: '1' };
        return { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo };
      },
    },
  };

  it.each([0.8, 1.5])('is called when it has asked: %j seconds #roots', async (busySeconds) => {
    const world = newPrograms(busy);
    for (const uri of ['file:///one', 'file:///two']) {
      const peer = world.legacy({ roots: {} });
      const call = peer.request('tools/call', { name: 's__a' });
      const answering = rootsOf(peer, uri, call);
      await seconds(busySeconds, world.clock, answering);
      world.servers.s.child.readOn();
      await seconds(3, world.clock, answering);
      expect(JSON.stringify(call.result)).toContain(uri);
    }
    expect(world.servers.s.children).toHaveLength(2);
  });
});
