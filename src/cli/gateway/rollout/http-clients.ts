// The clients over HTTP in a rollout: their idle connections go through the pid-holder to the next process, what is said
// about their sessions goes over the link, and what others pass on to this process has its answer before this one ends.

import type { HttpFront } from '../../../downstream/http/listener.ts';
import { followFormer, successorOver } from '../../../downstream/http/rollout/front-link.ts';
import type { OpenedHost } from '../../../host/create-host.ts';
import type { Tunnels } from '../../../replicas/tunnel/tunnels.ts';
import type { RawHandle } from '../../../rollout/holder/raw-handle.ts';
import type { Succession } from './succession.ts';

const what = 'http';

export interface OverRollouts {
  readonly succession: Succession;
  /** To the other processes and gateways. */
  readonly tunnels: Tunnels;
}

/** To be disposed of when the front is closed. */
export function overRollouts(
  front: HttpFront,
  { succession, tunnels }: OverRollouts,
  { defects }: OpenedHost,
): Disposable {
  const caught = (error: unknown) => void defects.caught('a rollout', error);
  const { sockets, arrival } = succession;
  succession.sockets.take(what, (handle, head) => front.adopt(handle, head['isKnown'] === true));
  if (arrival !== undefined) followFormer(arrival.link, front);
  return succession.add({
    give: (link) => {
      // From now on others are told that what is new belongs elsewhere.
      tunnels.stopAccepting();
      const pass = (handle: object, isKnown: boolean) =>
        sockets.pass(handle as RawHandle, { what, isKnown });
      const { ended } = front.handOver(successorOver(link, pass, caught));
      return { ended, last: () => tunnels.finish() };
    },
  });
}
