// What a server lists to a client that has a connection of its own may depend on what that client has
// told it: such a list is for that client, and for nobody else. Real gateway and host, scripted servers,
// manual clock.

import { describe, expect, it } from 'vitest';
import { type LegacyPeer, newGateway, settled } from '../../test/support/fake-gateway.ts';
import { rooted, rootsOf, rootsTold, seconds } from '../../test/support/rooted-server.ts';
import {
  ErrorAnswer,
  type Heard,
  type Script,
  type ScriptedChild,
  text,
  tool,
} from '../../test/support/scripted-server.ts';
import { specHash } from '../config/spec-hash.ts';

const ann = { id: 'token:ann', role: null };
const bob = { id: 'token:bob', role: null };

const tools = (child: ScriptedChild) => [tool('a', { description: rootsTold(child) })];

/** Lists what it finds in the roots that it was told. */
const listing: Script = {
  on: {
    ...rooted.on,
    'tools/list': (_heard, child) => ({ tools: tools(child) }),
    'resources/list': (_heard, child) => ({
      resources: [{ uri: 'x://r', name: rootsTold(child) }],
    }),
  },
};
/** The same, and it never says that something has changed. */
const silent: Script = { ...listing, capabilities: { tools: {}, resources: {} } };

function newClients(script: Script, config: object = {}) {
  const world = newGateway({ s: script }, { config: { s: config } });
  world.host.setGuard(() => ({ allow: true }));
  const anns = world.legacy({ roots: {} }, ann);
  const bobs = world.legacy({ roots: {} }, bob);
  const tell = async (peer: LegacyPeer, uri: string) => {
    const first = peer.request('tools/call', { name: 's__a' });
    await seconds(5, world.clock, rootsOf(peer, uri, first));
    const again = peer.request('tools/call', { name: 's__a' });
    await seconds(1, world.clock);
    expect(JSON.stringify(again.result)).toContain(uri);
  };
  const listed = async (peer: LegacyPeer, kind = 'tools') => {
    const list = peer.request(`${kind}/list`);
    await seconds(5, world.clock);
    return JSON.stringify(list.result);
  };
  return { ...world, anns, bobs, tell, listed };
}

describe('a list that was read after a client has told its roots', () => {
  it.each([{}, { isolation: 'client' }])(
    'is shown to that client, and to nobody else #own-roots: %j',
    async (config) => {
      const { anns, bobs, servers, clock, tell, listed } = newClients(listing, config);
      await tell(anns, 'file:///ann');
      servers.s.child.note('notifications/tools/list_changed');
      await seconds(1, clock);
      expect(await listed(anns)).toContain('file:///ann');
      expect(await listed(bobs)).not.toContain('file:///ann');
      await tell(bobs, 'file:///bob');
      expect(await listed(bobs)).toContain('file:///bob');
      expect(await listed(anns)).toContain('file:///ann');
    },
  );

  it('is read anew also from a server that says nothing of changes #own-roots', async () => {
    const { anns, bobs, tell, listed } = newClients(silent);
    await tell(anns, 'file:///ann');
    for (const kind of ['tools', 'resources']) {
      expect(await listed(anns, kind)).toContain('file:///ann');
      expect(await listed(bobs, kind)).not.toContain('file:///ann');
    }
  });

  it('is shown to nobody else of the same principal either #own-roots', async () => {
    const { anns, legacy, tell, listed } = newClients(silent);
    const other = legacy({ roots: {} }, ann);
    await tell(anns, 'file:///ann');
    expect(await listed(anns)).toContain('file:///ann');
    expect(await listed(other)).toContain('none');
  });

  it('is not kept for a later run #own-roots', async () => {
    const { anns, bobs, host, tell, listed, store } = newClients(silent);
    await tell(anns, 'file:///ann');
    expect(await listed(anns)).toContain('file:///ann');
    // What was read for everybody is kept, and written after it.
    await listed(bobs);
    host.find('s').offerings.keep();
    await settled();
    const kept = store.records('catalogues', { durability: 'forgetful' });
    const record = JSON.stringify(await kept.get(specHash(host.find('s').config)));
    expect(record).toContain('none');
    expect(record).not.toContain('file:///ann');
    const later = newGateway({ s: silent }, { store });
    const list = later.legacy({ roots: {} }).request('tools/list');
    await settled();
    expect(JSON.stringify(list.result)).not.toContain('file:///ann');
  });

  it('leaves no name of it on the disk, also where names and addresses are stored #own-roots', async () => {
    const own: Script = {
      on: {
        ...rooted.on,
        'tools/list': (_heard, child) => ({ tools: [tool('a'), tool(rootsTold(child))] }),
        'resources/list': (_heard, child) => ({
          resources: [
            { uri: 'x://both', name: 'both' },
            { uri: rootsTold(child), name: 'r' },
          ],
        }),
      },
    };
    const world = newGateway({ s: own, t: own }, { settings: { naming: 'transparent' } });
    const peer = world.legacy({ roots: {} });
    const ask = async (method: string) => {
      const reply = peer.request(method, { name: 'a' });
      await seconds(5, world.clock, rootsOf(peer, 'file:///ann', reply));
      return JSON.stringify(reply.result);
    };
    for (const method of ['tools/list', 'tools/call', 'tools/list', 'resources/list']) {
      await ask(method);
    }
    expect(await ask('tools/list')).toContain('file:///ann');
    const kept = world.store.records('names', { durability: 'forgetful' });
    const stored = JSON.stringify(await kept.entries());
    expect(stored).toContain('"none"');
    expect(stored).not.toContain('file:///ann');
  });

  it('costs nothing where it is what everybody is shown #no-growth', async () => {
    const { anns, bobs, host, tell, listed } = newClients(rooted);
    await tell(anns, 'file:///ann');
    const { offerings } = host.find('s');
    const before = offerings.definitions('tools');
    await tell(bobs, 'file:///bob');
    await Promise.all([listed(anns), listed(bobs)]);
    expect(offerings.definitions('tools')).toBe(before);
  });

  it('is gone with its client #no-growth', async () => {
    const { anns, bobs, host, clock, tell, listed } = newClients(silent);
    await tell(anns, 'file:///ann');
    await tell(bobs, 'file:///bob');
    await Promise.all([listed(anns), listed(bobs)]);
    for (const { session } of [anns, bobs]) session.close();
    await seconds(60, clock);
    const { offerings } = host.find('s');
    expect(JSON.stringify(offerings.definitions('tools'))).not.toContain('file:///');
  });
});

describe('a list that is read while a client tells its roots', () => {
  it('is not taken for that of everybody #own-roots', async () => {
    const waiting: (() => void)[] = [];
    let isLet = false;
    const slow: Script = {
      on: {
        ...rooted.on,
        'tools/list': (heard, child) => {
          if (isLet) return { tools: tools(child) };
          waiting.push(() => child.answer(heard, { tools: tools(child) }));
          return undefined;
        },
      },
    };
    const { anns, bobs, clock, servers, listed } = newClients(slow);
    const call = anns.request('tools/call', { name: 's__a' });
    await seconds(2, clock, rootsOf(anns, 'file:///ann', call));
    expect(rootsTold(servers.s.child)).toContain('file:///ann');
    isLet = true;
    for (const answer of waiting) answer();
    await seconds(3, clock);
    expect(JSON.stringify(call.result)).toContain('file:///ann');
    expect(await listed(anns)).toContain('file:///ann');
    expect(await listed(bobs)).not.toContain('file:///ann');
  });
});

describe('lists of a server that asks for roots at its start', () => {
  it('are read for everybody before a client tells its roots, and kept #own-roots #first-list', async () => {
    const waiting: (() => void)[] = [];
    const slow: Script = {
      on: {
        ...rooted.on,
        'tools/list': (heard, child) => {
          waiting.push(() => child.answer(heard, { tools: tools(child) }));
          return undefined;
        },
      },
    };
    const { anns, clock, servers, store } = newClients(slow);
    const list = anns.request('tools/list');
    await seconds(0.5, clock, rootsOf(anns, 'file:///ann', list));
    expect(rootsTold(servers.s.child)).toBe('none');
    for (const answer of waiting.splice(0)) answer();
    await settled();
    expect(JSON.stringify(list.result)).toContain('none');
    expect(rootsTold(servers.s.child)).toContain('file:///ann');
    const later = newGateway({ s: slow }, { store });
    const kept = later.legacy({ roots: {} }).request('tools/list');
    await settled();
    expect(JSON.stringify(kept.result)).toContain('none');
    expect(later.servers.s.children).toHaveLength(0);
  });
});

describe('an empty list of a server that asks for roots at its start', () => {
  it('is not taken for its answer in a later run #first-list', async () => {
    const later: Script = {
      on: {
        ...rooted.on,
        'tools/list': (_heard, child) => ({
          tools: rootsTold(child) === 'none' ? [] : tools(child),
        }),
      },
    };
    const { anns, clock, store } = newClients(later);
    const list = anns.request('tools/list');
    await seconds(3, clock, rootsOf(anns, 'file:///ann', list));
    const again = newGateway({ s: later }, { store });
    again.legacy({ roots: {} }).request('tools/list');
    await seconds(1, again.clock);
    expect(again.servers.s.children).toHaveLength(1);
  });
});

describe('lists of a server that asks for roots before it lists anything', () => {
  /** Its lists come when it is let, if it has been answered. */
  function patient() {
    let waiting: (readonly [ScriptedChild, Heard, string])[] = [];
    let asked = 0;
    const script: Script = {
      on: {
        'tools/list': (heard, child) => {
          asked += 1;
          waiting.push([child, heard, `list-${asked}`]);
          child.ask(`list-${asked}`, 'roots/list');
          return undefined;
        },
      },
    };
    const letThem = () => {
      const isAnswered = ([child, , id]: (typeof waiting)[number]) =>
        child.heard.some((answer) => answer.id === id);
      const ready = waiting.filter(isAnswered);
      waiting = waiting.filter((one) => !isAnswered(one));
      for (const [child, heard] of ready) child.answer(heard, { tools: tools(child) });
    };
    return { script, letThem };
  }

  it('are read for everybody too, also if every client leaves before it has them #first-list', async () => {
    const { script, letThem } = patient();
    const { anns, bobs, clock, servers, store } = newClients(script);
    const list = anns.request('tools/list');
    await seconds(2, clock, rootsOf(anns, 'file:///ann', list));
    expect(rootsTold(servers.s.child)).toContain('file:///ann');
    anns.session.close();
    await seconds(20, clock);
    expect(servers.s.children).toHaveLength(2);
    letThem();
    await seconds(1, clock);
    const shown = bobs.request('tools/list');
    await settled();
    expect(JSON.stringify(shown.result)).toContain('none');
    const later = newGateway({ s: script }, { store });
    const kept = later.legacy({ roots: {} }).request('tools/list');
    await settled();
    expect(JSON.stringify(kept.result)).toContain('none');
    expect(later.servers.s.children).toHaveLength(0);
  });

  it('are read for the next client that asks at the same time, too #first-list', async () => {
    const { script, letThem } = patient();
    const { anns, bobs, clock } = newClients(script);
    const [first, second] = [anns.request('tools/list'), bobs.request('tools/list')];
    const answers = [
      rootsOf(anns, 'file:///ann', first),
      rootsOf(bobs, 'file:///bob', second),
      letThem,
    ];
    await seconds(20, clock, ...answers);
    expect(JSON.stringify(first.result)).toContain('file:///ann');
    expect(JSON.stringify(second.result)).toMatch(/file:...bob|none/);
  });

  it('are read for everybody while a client stays, and kept for clients like it #first-list', async () => {
    const { script, letThem } = patient();
    const { anns, clock, servers, store } = newClients(script);
    const list = anns.request('tools/list');
    await seconds(25, clock, rootsOf(anns, 'file:///ann', list));
    expect(servers.s.children).toHaveLength(2);
    letThem();
    await seconds(1, clock);
    expect(servers.s.child.isGone).toBe(true);
    const later = newGateway({ s: script }, { store });
    const kept = later.legacy({ roots: {} }).request('tools/list');
    await settled();
    expect(later.servers.s.children).toHaveLength(0);
    expect(JSON.stringify(kept.result)).toContain('none');
  });

  it.each<[string, (world: ReturnType<typeof newClients>) => unknown]>([
    ['the host ends', ({ host }) => host.close()],
    ['the operator has stopped it', ({ host }) => host.stop('s')],
    ['its start has failed', ({ servers }) => servers.s.child.exit()],
  ])('do not start it again for everybody when %s #first-list', async (_when, happens) => {
    const world = newClients(patient().script);
    const { anns, clock, servers } = world;
    const list = anns.request('tools/list');
    await seconds(2, clock, rootsOf(anns, 'file:///ann', list));
    expect(rootsTold(servers.s.child)).toContain('file:///ann');
    happens(world);
    await seconds(5, clock);
    expect(servers.s.children).toHaveLength(1);
  });

  it('do not start it when the host ends together with a client that waits for them #no-orphans', async () => {
    const { anns, bobs, host, clock, servers } = newClients(patient().script);
    const list = anns.request('tools/list');
    await seconds(2, clock, rootsOf(anns, 'file:///ann', list));
    bobs.request('tools/call', { name: 's__a' });
    await seconds(1, clock);
    expect(servers.s.children).toHaveLength(2);
    bobs.session.close();
    const closed = host.close();
    await seconds(5, clock);
    await closed;
    expect(servers.s.children).toHaveLength(2);
  });
});

describe('a server for all clients that lists nothing', () => {
  it('is not ended because it was asked for its lists once more #first-list', async () => {
    const refusing: Script = {
      on: {
        ...rooted.on,
        'tools/list': () => new ErrorAnswer({ code: -32_000, message: 'no' }),
      },
    };
    const { anns, clock, servers, listed } = newClients(refusing, { isolation: 'shared' });
    const first = anns.request('tools/list');
    await seconds(3, clock, rootsOf(anns, 'file:///ann', first));
    expect(rootsTold(servers.s.child)).toContain('file:///ann');
    servers.s.child.exit();
    await seconds(30, clock);
    await listed(anns);
    expect(servers.s.children).toHaveLength(2);
    await seconds(5, clock);
    expect(servers.s.child.isGone).toBe(false);
  });
});

describe('a tool that a client has switched on, on a connection of its own', () => {
  const switching: Script = {
    on: {
      'tools/list': (_heard, child) => ({
        tools: [tool('on'), ...(child.heardAs('tools/call').length > 0 ? [tool('more')] : [])],
      }),
      'tools/call': (_heard, child) => {
        child.note('notifications/tools/list_changed');
        return text('');
      },
    },
  };

  it('is listed to that client, and can be called', async () => {
    const { anns, bobs, clock, listed } = newClients(switching, { isolation: 'client' });
    for (const peer of [bobs, anns]) await listed(peer);
    const first = bobs.request('tools/call', { name: 's__on' });
    await seconds(1, clock);
    expect(first.result).toBeDefined();
    expect(await listed(bobs)).toContain('s__more');
    expect(await listed(anns)).not.toContain('s__more');
    const more = bobs.request('tools/call', { name: 's__more' });
    await seconds(1, clock);
    expect(more.result['isError']).toBeUndefined();
  });
});
