// What a server was told about roots last decides which calls may use its connection, and whether
// earlier answers still hold: also if it was told that there are none any more. Real gateway and host,
// scripted servers, manual clock.

import { describe, expect, it } from 'vitest';
import { asksFirst, newPrograms, program } from '../../test/support/modern-program.ts';
import { rooted, rootsOf, seconds } from '../../test/support/rooted-server.ts';
import { type Script, type ScriptedChild, text, tool } from '../../test/support/scripted-server.ts';

/** What it was told last, also if that was an empty list. */
function lastTold(child: ScriptedChild): string {
  const told = child.heard.filter(({ result }) => JSON.stringify(result ?? {}).includes('"roots"'));
  return told.length === 0 ? 'never' : JSON.stringify(told.at(-1)?.result);
}

describe('a connection whose server was told an empty list after roots', () => {
  it('is not used for a call with those roots #own-roots', async () => {
    /** Asks in its first call, and if its arguments say so; says what it was told last. */
    const sometimes: Script = {
      tools: [tool('a')],
      on: {
        'tools/call': (heard, child) => {
          const { arguments: args } = heard.params as { arguments: { ask?: boolean } };
          if (!args.ask && lastTold(child) !== 'never') return text(lastTold(child));
          return asksFirst(1, heard, child, () => text(lastTold(child)));
        },
      },
    };
    const world = newPrograms(sometimes);
    const one = world.withRoots('file:///one');
    const bare = world.withRoots();
    expect((await one('s__a', { ask: true, at: 1 })).said).toContain('file:///one');
    expect((await bare('s__a', { ask: true, at: 2 })).said).not.toContain('file:///one');
    // The sign that comes one call late.
    await one('s__a', { at: 3 });
    expect(world.host.find('s').facts.now.keepsRoots).toBe(true);
    const { rounds, said } = await one('s__a', { at: 4 });
    expect([rounds, said]).toEqual([1, expect.stringContaining('file:///one')]);
  });
});

describe('a legacy client that closes its last folder', () => {
  const follows: Script = {
    ...rooted,
    on: {
      ...rooted.on,
      'tools/call': (_heard, child) => ({ ...text(lastTold(child)), ttlMs: 60_000 }),
    },
  };

  it.each([['file:///two'], [undefined]])(
    'is not answered from the cache with what was in it, then has %s #own-roots',
    async (next) => {
      const world = newPrograms(follows, { config: { s: { trusted: true } } });
      const peer = world.legacy({ roots: { listChanged: true } });
      let uri: string | undefined = 'file:///one';
      const done = new Set<unknown>();
      const talks: { messages: readonly Record<string, unknown>[] }[] = [peer];
      const answer = () => {
        for (const { id, method } of talks.flatMap(({ messages }) => messages)) {
          if (method !== 'roots/list' || done.has(id)) continue;
          done.add(id);
          peer.answer(id, { roots: uri === undefined ? [] : [{ uri }] });
        }
      };
      const call = async () => {
        const reply = peer.request('tools/call', { name: 's__a', arguments: {} });
        talks.push(reply);
        await seconds(5, world.clock, answer);
        return JSON.stringify(reply.result);
      };
      // The first is not cached, because the server was told roots meanwhile.
      for (const _time of [1, 2, 3]) expect(await call()).toContain('file:///one');
      expect(world.servers.s.heard('tools/call')).toHaveLength(2);
      uri = next;
      peer.note('notifications/roots/list_changed');
      await seconds(3, world.clock, answer);
      expect(lastTold(world.servers.s.child)).not.toContain('file:///one');
      expect(await call()).not.toContain('file:///one');
    },
  );
});

describe('where all clients share one connection by the operator’s wish', () => {
  /** Asks in each call, and says what it was told. */
  const asking: Script = {
    tools: [tool('a')],
    on: {
      'tools/call': (heard, child) => asksFirst(1, heard, child, () => text(lastTold(child))),
    },
  };

  it('the roots of the first are used for all, and are those that it has now #own-roots', async () => {
    const world = newPrograms(asking, { config: { s: { isolation: 'shared' } } });
    const [one, other] = [world.legacy({ roots: {} }), world.legacy({ roots: {} })];
    let at = 0;
    const called = async (peer: typeof one, uri: string) => {
      at += 1;
      const reply = peer.request('tools/call', { name: 's__a', arguments: { at } });
      await seconds(3, world.clock, rootsOf(one, uri, reply), rootsOf(other, 'file:///x', reply));
      return JSON.stringify(reply.result);
    };
    expect(await called(one, 'file:///one')).toContain('file:///one');
    expect(await called(other, 'file:///one')).toContain('file:///one');
    expect(await called(one, 'file:///two')).toContain('file:///two');
    expect(await called(other, 'file:///two')).toContain('file:///two');
    // It does not answer any more, and others do not wait for it.
    const { rounds, said } = await world.withRoots('file:///third')('s__a');
    expect([rounds, said]).toEqual([0, expect.stringContaining('file:///two')]);
    one.session.close();
    expect(await called(other, 'file:///gone')).toContain('file:///two');
  });

  it('one of many modern programs is asked, once #own-roots', async () => {
    const world = newPrograms(asking, { config: { s: { isolation: 'shared' } } });
    expect((await world.withRoots('file:///one')('s__a')).said).toContain('file:///one');
    for (const at of [1, 2]) {
      const { rounds, said } = await world.withRoots('file:///other')('s__a', { at });
      expect([rounds, said]).toEqual([0, expect.stringContaining('file:///one')]);
    }
  });

  it('a late answer of the first client reaches the server, too #own-roots', async () => {
    const follows: Script = {
      ...asking,
      on: {
        ...asking.on,
        'notifications/roots/list_changed': (_heard, child) =>
          child.ask(`change-${child.heard.length}`, 'roots/list'),
      },
    };
    const world = newPrograms(follows, { config: { s: { isolation: 'shared' } } });
    const [one, other] = [world.legacy({ roots: {} }), world.legacy({ roots: {} })];
    const first = one.request('tools/call', { name: 's__a', arguments: { at: 1 } });
    await seconds(3, world.clock, rootsOf(one, 'file:///one', first));
    const second = other.request('tools/call', { name: 's__a', arguments: { at: 2 } });
    await seconds(2, world.clock);
    expect(JSON.stringify(second.result)).toContain('file:///one');
    await seconds(2, world.clock, rootsOf(one, 'file:///two', first));
    expect(lastTold(world.servers.s.child)).toContain('file:///two');
  });

  it('a first client that does not answer is asked once at a time #own-roots', async () => {
    const world = newPrograms(asking, { config: { s: { isolation: 'shared' } } });
    const [one, other] = [world.legacy({ roots: {} }), world.legacy({ roots: {} })];
    const first = one.request('tools/call', { name: 's__a', arguments: {} });
    await seconds(3, world.clock, rootsOf(one, 'file:///one', first));
    for (let at = 0; at < 5; at += 1) {
      const reply = other.request('tools/call', { name: 's__a', arguments: { at } });
      await seconds(2, world.clock);
      expect(JSON.stringify(reply.result)).toContain('file:///one');
    }
    expect(one.messages.filter(({ method }) => method === 'roots/list')).toHaveLength(1);
  });
});

describe('two modern programs that wait for the same start', () => {
  it.each(['shared', 'auto'] as const)(
    'leave nobody without roots (%s) #own-roots',
    async (isolation) => {
      let asks = false;
      const later: Script = {
        ...rooted,
        on: {
          ...rooted.on,
          'notifications/initialized': (_heard, child) => {
            if (asks) child.ask('start', 'roots/list');
          },
          'notifications/roots/list_changed': () => undefined,
        },
      };
      const world = newPrograms(later, { config: { s: { isolation } } });
      world.modern({ roots: {} }).request('tools/list');
      await seconds(400, world.clock);
      expect(world.children()).toEqual([]);
      asks = true;
      const peers = ['ann', 'bob'].map((key) =>
        program(world.modern({ roots: {} }, { key }), world.clock, [`file:///${key}`]),
      );
      const [ann, bob] = await Promise.all(peers.map(async (call) => (await call('s__a')).said));
      if (isolation === 'auto') {
        expect([ann, bob]).toEqual([
          expect.stringContaining('file:///ann'),
          expect.stringContaining('file:///bob'),
        ]);
      } else expect([ann, ann === bob]).toEqual([expect.stringContaining('file:///'), true]);
    },
  );
});
