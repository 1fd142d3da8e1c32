// The front of a process that is replaced: from the fence on, others that ask for it are told that it ends.

import { describe, expect, it } from 'vitest';
import { playedLinks } from '../../../../test/support/played-links.ts';
import type { HttpFront } from '../../../downstream/http/listener.ts';
import type { OpenedHost } from '../../../host/create-host.ts';
import { ignored } from '../../../kernel/contain.ts';
import type { Tunnels } from '../../../replicas/tunnel/tunnels.ts';
import { overRollouts } from './http-clients.ts';
import type { Giver, Succession } from './succession.ts';

describe('the clients over HTTP at the fence', () => {
  it('are given away after others were told that nothing new begins here #rollout #replicas', async () => {
    const done: string[] = [];
    let giver: Giver | undefined;
    const succession = {
      sockets: { take: ignored },
      add: (one: Giver) => {
        giver = one;
        return { [Symbol.dispose]: ignored };
      },
    } as unknown as Succession;
    const front = {
      handOver: () => {
        done.push('handed over');
        return { ended: Promise.resolve() };
      },
    } as unknown as HttpFront;
    const tunnels = {
      stopAccepting: () => void done.push('told'),
      finish: async () => void done.push('finished'),
    } as unknown as Tunnels;
    using _over = overRollouts(front, { succession, tunnels }, {} as OpenedHost);
    const [link] = playedLinks();
    const given = await giver?.give(link as never);
    await given?.ended;
    expect(done).toEqual(['told', 'handed over']);
    await given?.last?.();
    expect(done).toEqual(['told', 'handed over', 'finished']);
  });
});
