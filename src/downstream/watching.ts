// Clients that watch resources: a legacy one subscribes to each, a modern one says in one request that
// stays open what it wants to hear. Both end up as a watch on the server that owns the resource, where
// the client's own calls go, and both end with the client.

import { authorize } from '../policy/guard.ts';
import type { Gateway } from './gateway.ts';
import type { Incoming } from './incoming.ts';
import type { LegacySession } from './legacy-session.ts';
import { Listening, readWishes } from './listen.ts';
import { invalidParams, refuse, textParam } from './refusals.ts';

export async function subscribe(
  gateway: Gateway,
  incoming: Incoming,
  session: LegacySession | undefined,
): Promise<void> {
  const uri = textParam(incoming, 'uri');
  if (uri === undefined || !session) return incoming.error(invalidParams('uri must be a string'));
  if (session.watched.has(uri)) return incoming.result('{}');
  try {
    const stop = await watch(gateway, incoming, uri);
    if (!stop) return incoming.error(invalidParams(`unknown resource ${uri}`));
    if (incoming.isOver || session.watched.has(uri)) stop();
    else session.watched.set(uri, stop);
    incoming.result('{}');
  } catch (thrown) {
    refuse(incoming, thrown);
  }
}

export function unsubscribe(incoming: Incoming, session: LegacySession | undefined): void {
  const uri = textParam(incoming, 'uri');
  if (uri === undefined) return incoming.error(invalidParams('uri must be a string'));
  session?.watched.get(uri)?.();
  session?.watched.delete(uri);
  incoming.result('{}');
}

/** Begins to watch a resource; the result stops it. Undefined if nobody owns it. */
async function watch(
  gateway: Gateway,
  incoming: Incoming,
  uri: string,
): Promise<(() => void) | undefined> {
  const { principal } = incoming;
  const owner = await gateway.view.resources.ownerOf(uri, incoming);
  if (!owner) return undefined;
  authorize(gateway.host.guard, principal, owner.server, owner.uri, 'subscribe', 'resource');
  return await gateway.host.find(owner.server).seats.watch(incoming, owner.uri);
}

/** The request stays open until its client closes it, or we go down. */
export async function listen(gateway: Gateway, incoming: Incoming): Promise<void> {
  const wishes = readWishes(incoming);
  if (!wishes) return incoming.error(invalidParams('notifications must be an object'));
  const stops: (() => void)[] = [];
  const granted: string[] = [];
  const watching = wishes.resourceSubscriptions.map(async (uri) => {
    // What cannot be watched is not granted; the acknowledgement says so.
    const stop = await watch(gateway, incoming, uri).catch(() => undefined);
    if (!stop) return;
    stops.push(stop);
    granted.push(uri);
  });
  await Promise.all(watching);
  const end = () => {
    for (const stop of stops) stop();
  };
  if (incoming.isOver) return end();
  const listening = new Listening(incoming, { ...wishes, resourceSubscriptions: granted });
  gateway.listening(listening, end);
  listening.acknowledge();
}
