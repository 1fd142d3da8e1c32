// Clients that watch resources of a server which begins to keep its clients apart: what one of them
// watches on a connection that becomes the own one of another is watched on a connection of its own
// from then on. Real gateway and host, scripted servers, manual clock.

import { describe, expect, it } from 'vitest';
import { type LegacyPeer, newGateway } from '../../test/support/fake-gateway.ts';
import { rooted, rootsOf, seconds } from '../../test/support/rooted-server.ts';
import type { Script, ScriptedServer } from '../../test/support/scripted-server.ts';

const ann = { id: 'token:ann', role: null };
const bob = { id: 'token:bob', role: null };
const uri = 'x://r';

/** Asks for roots only when it is told that there are some, by the first call. */
const watched: Script = {
  tools: rooted.tools ?? [],
  resources: [{ uri, name: 'r' }],
  on: {
    ...rooted.on,
    'notifications/initialized': () => undefined,
    'resources/subscribe': () => ({}),
    'resources/unsubscribe': () => ({}),
  },
};

function newWatched(script: Script = watched) {
  const world = newGateway({ s: script });
  world.host.setGuard(() => ({ allow: true }));
  const anns = world.legacy({ roots: {} }, ann);
  const bobs = world.legacy({ roots: {} }, bob);
  /** The connection is told ann's roots, and so becomes her own. */
  const tellAnns = async () => {
    const first = anns.request('tools/call', { name: 's__a' });
    await seconds(4, world.clock, rootsOf(anns, 'file:///ann', first));
    expect(JSON.stringify(world.servers.s.children[0]?.heard)).toContain('file:///ann');
  };
  return { ...world, anns, bobs, tellAnns };
}

/** How often each of its processes was told to watch, less how often it was told to stop. */
function watchers({ children }: ScriptedServer): readonly number[] {
  return children.map(
    (child) =>
      child.heardAs('resources/subscribe').length - child.heardAs('resources/unsubscribe').length,
  );
}

/** Every process that watches says that the resource changed. */
function change(server: ScriptedServer): void {
  watchers(server).forEach((count, at) => {
    if (count > 0) server.children[at]?.note('notifications/resources/updated', { uri });
  });
}

const updates = (peer: LegacyPeer) =>
  peer.methods().filter((method) => method === 'notifications/resources/updated').length;

describe('a client that watches on a connection that becomes the own one of another', () => {
  it('still gets updates, from a connection of its own', async () => {
    const { anns, bobs, clock, servers, tellAnns } = newWatched();
    const subscribed = bobs.request('resources/subscribe', { uri });
    await seconds(4, clock);
    expect(subscribed.result).toBeDefined();
    await tellAnns();
    expect(watchers(servers.s)).toEqual([0, 1]);
    change(servers.s);
    await seconds(1, clock);
    expect([updates(bobs), updates(anns)]).toEqual([1, 0]);
  });

  it('that stops watching leaves nothing behind, and its connection ends in its time', async () => {
    const { bobs, clock, servers, tellAnns } = newWatched();
    bobs.request('resources/subscribe', { uri });
    await seconds(4, clock);
    await tellAnns();
    bobs.request('resources/unsubscribe', { uri });
    await seconds(1, clock);
    expect(watchers(servers.s)).toEqual([0, 0]);
    bobs.request('resources/subscribe', { uri });
    await seconds(1, clock);
    expect(watchers(servers.s)).toEqual([0, 1]);
    bobs.session.close();
    await seconds(1, clock);
    expect(servers.s.children.map(({ isGone }) => isGone)).toEqual([false, true]);
  });

  it('that is confirmed only afterwards is moved as well', async () => {
    const answers: (() => void)[] = [];
    const slow: Script = {
      ...watched,
      on: {
        ...watched.on,
        'resources/subscribe': (heard, child) => {
          if (answers.length > 0) return {};
          answers.push(() => child.answer(heard, {}));
          return undefined;
        },
      },
    };
    const { anns, bobs, clock, servers, tellAnns } = newWatched(slow);
    const subscribed = bobs.request('resources/subscribe', { uri });
    await seconds(2, clock);
    await tellAnns();
    for (const answer of answers) answer();
    await seconds(2, clock);
    expect(subscribed.result).toBeDefined();
    change(servers.s);
    await seconds(1, clock);
    expect([updates(bobs), updates(anns)]).toEqual([1, 0]);
  });
});

describe('a client whose own the connection becomes on which it watches', () => {
  it('goes on watching there', async () => {
    const { anns, clock, servers, tellAnns } = newWatched();
    anns.request('resources/subscribe', { uri });
    await seconds(4, clock);
    await tellAnns();
    expect(watchers(servers.s)).toEqual([1]);
    change(servers.s);
    await seconds(1, clock);
    expect(updates(anns)).toBe(1);
  });
});
