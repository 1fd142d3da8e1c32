// The clients over HTTP in a rollout: their idle connections go through the pid-holder to the next process, and what is
// said about their sessions over the link.

import type { HttpFront } from '../../../downstream/http/listener.ts';
import { followFormer, successorOver } from '../../../downstream/http/rollout/front-link.ts';
import type { OpenedHost } from '../../../host/create-host.ts';
import type { RawHandle } from '../../../rollout/holder/raw-handle.ts';
import type { Succession } from './succession.ts';

const what = 'http';

/** To be disposed of when the front is closed. */
export function overRollouts(
  front: HttpFront,
  succession: Succession,
  { defects }: OpenedHost,
): Disposable {
  const caught = (error: unknown) => void defects.caught('a rollout', error);
  const { sockets, arrival } = succession;
  succession.sockets.take(what, (handle, head) => front.adopt(handle, head['isKnown'] === true));
  if (arrival !== undefined) followFormer(arrival.link, front);
  return succession.add({
    give: (link) => {
      const pass = (handle: object, isKnown: boolean) =>
        sockets.pass(handle as RawHandle, { what, isKnown });
      return { ended: front.handOver(successorOver(link, pass, caught)).ended };
    },
  });
}
