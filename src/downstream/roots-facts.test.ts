// What the gateway learns about how a server asks for roots, and what that saves: a list that is not
// read again, a wait that is not repeated, a question before the call instead of in it. Real gateway
// and host, scripted servers, manual clock.

import { describe, expect, it } from 'vitest';
import { settled } from '../../test/support/fake-gateway.ts';
import { asksFirst, asksToList, newPrograms } from '../../test/support/modern-program.ts';
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
