// Clients that watch resources: a legacy one subscribes to each, a modern one lists its
// subscriptions in one request that stays open. Both become a watch at the server that owns the
// resource, on the connection that the client's calls use, and both end with the client.

import { Fault } from '../../kernel/fault.ts';
import type { Principal } from '../../policy/principal.ts';
import type { LegacySession, Watched } from '../clients/legacy-session.ts';
import type { Gateway } from '../gateway.ts';
import type { Incoming } from '../incoming.ts';
import { invalidParams, refuseRequest, textParam } from '../refusals.ts';
import { lacksTasks } from '../tasks/task-requests.ts';
import { declaresTasks } from '../tasks/task-results.ts';
import { stillFollowed, watchTasks } from '../tasks/task-watch.ts';
import { noteUnknown } from '../unknown-request.ts';
import { type ListenedResource, Listening, readWishes } from './listen.ts';

/** Resources, and tasks, that one client may watch, in one session or in one request. */
export const maxWatched = 1_000;
/** Requests of one client, and of one owner on all paths, that stay open to listen. */
export const maxListenings = 64;

export async function subscribe(
  gateway: Gateway,
  incoming: Incoming,
  session: LegacySession | undefined,
): Promise<void> {
  const uri = textParam(incoming, 'uri');
  if (uri === undefined || !session) return incoming.error(invalidParams('uri must be a string'));
  if (session.watched.has(uri)) return incoming.result('{}');
  try {
    assertRoom(session.watched.size < maxWatched, `${maxWatched} resources`);
    const watched = await watch(gateway, incoming, uri);
    if (!watched) {
      incoming.error(invalidParams(`unknown resource ${uri}`));
      return noteUnknown(gateway, incoming, 'resource', uri);
    }
    const isFull = session.watched.size >= maxWatched;
    if (incoming.isOver || isFull || session.watched.has(uri)) watched.stop();
    else session.watched.set(uri, watched);
    assertRoom(!isFull, `${maxWatched} resources`);
    incoming.result('{}');
  } catch (thrown) {
    refuseRequest(incoming, thrown);
  }
}

export function unsubscribe(incoming: Incoming, session: LegacySession | undefined): void {
  const uri = textParam(incoming, 'uri');
  if (uri === undefined) return incoming.error(invalidParams('uri must be a string'));
  session?.watched.get(uri)?.stop();
  session?.watched.delete(uri);
  incoming.result('{}');
}

/** Begins to watch a resource; the result says how to stop. Undefined if nobody owns it. */
async function watch(
  gateway: Gateway,
  incoming: Incoming,
  uri: string,
): Promise<Watched | undefined> {
  const asked = { action: 'subscribe', method: incoming.message.method ?? null } as const;
  const owner = await gateway.view.of(incoming.principal).resources.ownerOf(uri, incoming, asked);
  if (!owner) return undefined;
  const { server, uri: own } = owner;
  const stop = await gateway.host.find(server).slots.watch(incoming, own);
  const watched = { server, uri: own, stop };
  if (mayWatch(gateway, incoming.principal, watched)) return watched;
  // Hidden while the server was asked.
  stop();
  return undefined;
}

/** Whether a principal may hear of changes of this resource. */
export function mayWatch(
  { host }: Pick<Gateway, 'host'>,
  principal: Principal,
  { server, uri }: Pick<Watched, 'server' | 'uri'>,
): boolean {
  const request = {
    action: 'subscribe',
    server,
    kind: 'resource',
    name: uri,
    method: null,
  } as const;
  return host.access.isAllowed(principal, request);
}

/** The request stays open until its client closes it, or we shut down. */
export async function listen(gateway: Gateway, incoming: Incoming): Promise<void> {
  const wishes = readWishes(incoming);
  if (!wishes) return incoming.error(invalidParams('notifications must be an object'));
  const hasRoom = () => gateway.listeningsOf(incoming.client) < maxListenings;
  assertRoom(hasRoom(), `${maxListenings} streams`);
  assertRoom(wishes.resourceSubscriptions.length <= maxWatched, `${maxWatched} resources`);
  assertRoom(wishes.taskIds.length <= maxWatched, `${maxWatched} tasks`);
  if (wishes.taskIds.length > 0 && !declaresTasks(incoming)) return incoming.error(lacksTasks());
  const resources: ListenedResource[] = [];
  const unknown: string[] = [];
  const watching = wishes.resourceSubscriptions.map(async (uri) => {
    // What cannot be watched is not granted; the acknowledgement says so.
    const watched = await watch(gateway, incoming, uri).catch(() => null);
    if (watched) resources.push({ as: uri, watched });
    else if (watched === undefined) unknown.push(uri);
  });
  const [begun] = await Promise.all([watchTasks(gateway, incoming, wishes.taskIds), ...watching]);
  // What came first may have been hidden while others were asked.
  const tasks = stillFollowed(gateway, incoming.principal, begun);
  const isSeen = ({ watched }: ListenedResource) => mayWatch(gateway, incoming.principal, watched);
  for (const one of resources) if (!isSeen(one)) one.watched.stop();
  const seen = resources.filter(isSeen);
  const taskIds = tasks.flatMap(({ granted }) => granted).map(({ handle }) => handle);
  const shown = { ...wishes, resourceSubscriptions: seen.map(({ as }) => as), taskIds };
  const listening = new Listening(incoming, shown, { resources: seen, tasks });
  if (incoming.isOver) return listening.stop();
  // Others may have come first while the servers were asked.
  if (!hasRoom()) listening.stop();
  assertRoom(hasRoom(), `${maxListenings} streams`);
  gateway.listening(listening, () => listening.stop());
  listening.acknowledge();
  if (incoming.goesOn) listening.tellOfAll();
  for (const uri of unknown) noteUnknown(gateway, incoming, 'resource', uri);
}

/** The subscriptions of one client must not fill our memory, or its servers'. */
function assertRoom(hasRoom: boolean, limit: string): void {
  if (hasRoom) return;
  throw new Fault('overloaded', `a client may listen to at most ${limit}; end others first`);
}
