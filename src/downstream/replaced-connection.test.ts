// A call that waits for something on a connection (its roots, a list) which the operator replaces
// meanwhile: it has not been sent, so it is sent to the process that comes next, and not to the one that is
// being ended. Real gateway and host, scripted servers, manual clock.

import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { rooted, seconds } from '../../test/support/rooted-server.ts';
import { type Script, type ScriptedChild, text } from '../../test/support/scripted-server.ts';
import { toolCall } from '../host/call/operation.ts';
import { localUser } from '../policy/principal.ts';

describe('a call that waits while its server is reloaded', () => {
  it('runs on the process that comes next #true-dispatched', async () => {
    const started: ScriptedChild[] = [];
    const script: Script = {
      ...rooted,
      on: {
        ...rooted.on,
        // The first process answers no calls, so that it is given time to end.
        'tools/call': (_heard, child) => {
          if (!started.includes(child)) started.push(child);
          return started.indexOf(child) === 0 ? undefined : text('done');
        },
      },
    };
    const { legacy, clock, host, servers } = newGateway({ s: script });
    const peer = legacy({ roots: {} });
    const first = peer.request('tools/call', { name: 's__a' });
    await seconds(0.3, clock);
    // Somebody who cannot be asked does not wait for roots.
    const other = host.carry({ principal: localUser, server: 's', operation: toolCall('a', '{}') });
    other.catch(() => {});
    await settled();
    expect(servers.s.heard('tools/call')).toHaveLength(1);
    const reloaded = host.reload('s');
    await seconds(20, clock);
    await reloaded;
    expect(JSON.stringify(first.result)).toContain('done');
    expect(servers.s.children.map((child) => child.heardAs('tools/call').length)).toEqual([1, 1]);
  });
});
