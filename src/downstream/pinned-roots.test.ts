// A server that is kept running (`lazy: false`) and works with roots: when the client that told it
// its roots is gone, the process that knows them ends, and one that knows nothing takes its place. Real
// gateway and host, scripted servers, manual clock.

import { describe, expect, it } from 'vitest';
import { newGateway } from '../../test/support/fake-gateway.ts';
import { newPrograms, program } from '../../test/support/modern-program.ts';
import { rooted, rootsOf, seconds } from '../../test/support/rooted-server.ts';

describe('a server that is kept running, when the only client that has told it its roots leaves', () => {
  it('has one process without data of the client #own-roots', async () => {
    const { legacy, clock, host, servers } = newGateway(
      { s: rooted },
      { config: { s: { lazy: false } } },
    );
    host.startPinned();
    await seconds(1, clock);
    const ann = legacy({ roots: {} });
    const first = ann.request('tools/call', { name: 's__a' });
    await seconds(5, clock, rootsOf(ann, 'file:///ann', first));
    expect(JSON.stringify(first.result)).toContain('file:///ann');
    ann.session.close();
    await seconds(60, clock);
    const running = servers.s.children.filter(({ isGone }) => !isGone);
    expect(running).toHaveLength(1);
    expect(JSON.stringify(running[0]?.heard)).not.toContain('file:///ann');
  });
});

describe('a server that is kept running, and gives each client its own connections', () => {
  const config = { s: { lazy: false, isolation: 'client' } };

  it('serves any number of different roots, one after the other #own-roots', async () => {
    const world = newPrograms(rooted, { config });
    world.host.startPinned();
    for (let at = 0; at < 12; at += 1) {
      const { said } = await world.withRoots(`file:///p${at}/`)('s__a', { at });
      expect(said).toContain(`file:///p${at}/`);
    }
  });

  it('keeps one process when the client that had it leaves #own-roots', async () => {
    const world = newPrograms(rooted, { config });
    world.host.startPinned();
    await world.withRoots('file:///one')('s__a');
    const other = world.modern({ roots: {} }, { key: 'other' });
    await program(other, world.clock, ['file:///other'])('s__a');
    world.gateway.clientGone('modern');
    await seconds(1_000, world.clock);
    expect(world.children()).toHaveLength(1);
    expect(JSON.stringify(world.children()[0]?.heard)).toContain('file:///other');
  });
});
