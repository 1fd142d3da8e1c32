// A server that is kept running (`lazy: false`) and works with roots: when the client that told it
// its roots is gone, the process that knows them ends, and one that knows nothing takes its place. Real
// gateway and host, scripted servers, manual clock.

import { describe, expect, it } from 'vitest';
import { newGateway } from '../../test/support/fake-gateway.ts';
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
