// `taskIds` of `subscriptions/listen`: a modern client subscribes to its tasks. Each connection
// that has some of them gets the same subscription, with its own ids: a server may have several
// connections; its notifications come back through task-news. Only the client's own tasks are
// granted.

import type { ConnectionSlot } from '../../host/connections/connection-slot.ts';
import { ignored } from '../../kernel/contain.ts';
import { Fault } from '../../kernel/fault.ts';
import type { AccessRequest } from '../../policy/access.ts';
import type { Principal } from '../../policy/principal.ts';
import type { Connection } from '../../upstream/connection.ts';
import type { Gateway } from '../gateway.ts';
import type { Incoming } from '../incoming.ts';
import type { TaskAddress } from './task-handles.ts';

interface WishedTask extends TaskAddress {
  readonly handle: string;
}

export interface WatchedTask extends WishedTask {
  /** Messages about it come from here: the same id may be another task elsewhere. */
  readonly connection: Connection;
}

export interface TaskWatch {
  readonly granted: readonly WatchedTask[];
  readonly stop: () => void;
}

export async function watchTasks(
  gateway: Gateway,
  incoming: Incoming,
  handles: readonly string[],
): Promise<readonly TaskWatch[]> {
  const byPlace = new Map<ConnectionSlot, WishedTask[]>();
  for (const handle of new Set(handles)) {
    const owner = gateway.handles.ownerOf(handle, incoming.principal);
    const slot = owner && slotOf(gateway, incoming, owner);
    if (slot) byPlace.set(slot, [...(byPlace.get(slot) ?? []), { ...owner, handle }]);
  }
  const watching = [...byPlace].map(async ([slot, tasks]) => {
    // What cannot be watched is not granted; the client can still ask.
    const watch = await watchAt(gateway, incoming, slot, tasks).catch(() => undefined);
    return watch ?? [];
  });
  return (await Promise.all(watching)).flat();
}

/** Whether a principal may hear of any of these tasks. */
export function mayFollow(
  { host }: Gateway,
  principal: Principal,
  { granted }: Pick<TaskWatch, 'granted'>,
): boolean {
  return granted.some((task) => host.access.isAllowed(principal, followRequest(task)));
}

/** What a principal may still hear of these; a watch of which nothing is left is stopped. */
export function stillFollowed(
  { host }: Gateway,
  principal: Principal,
  watches: readonly TaskWatch[],
): readonly TaskWatch[] {
  const isSeen = (task: WatchedTask) => host.access.isAllowed(principal, followRequest(task));
  return watches.flatMap(({ granted, stop }) => {
    const seen = granted.filter(isSeen);
    if (seen.length > 0) return [{ granted: seen, stop }];
    stop();
    return [];
  });
}

function followRequest({ server, tool: name }: TaskAddress): AccessRequest {
  return { action: 'task', server, kind: 'tool', name, method: 'subscriptions/listen' };
}

/** Where the task lives; where the client's calls go if that is not known. Undefined if it may not ask. */
function slotOf(
  { host }: Gateway,
  incoming: Incoming,
  owner: TaskAddress,
): ConnectionSlot | undefined {
  const { server: name, taskId, tool } = owner;
  try {
    const begun = host.tasks.find(name, taskId, incoming);
    // Its server uses the id again, for a call of another tool.
    if (begun && begun.tool !== tool) return undefined;
    host.access.authorize(incoming.principal, followRequest(owner));
    return begun?.place.slot ?? host.find(name).slots.for(incoming);
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

async function watchAt(
  { host }: Gateway,
  incoming: Incoming,
  { supervisor }: ConnectionSlot,
  wished: readonly WishedTask[],
): Promise<TaskWatch> {
  const server = wished[0]?.server ?? '';
  supervisor.leases.hold();
  try {
    const connection = supervisor.connection ?? (await supervisor.acquire());
    if (connection.era !== 'modern') throw new Fault('not_found', 'unknown task', { server });
    // What was decided before the wait may have changed.
    const { principal } = incoming;
    const tasks = wished.filter((task) => host.access.isAllowed(principal, followRequest(task)));
    if (tasks.length === 0) throw new Fault('not_found', 'unknown task', { server });
    const taskIds = JSON.stringify(tasks.map(({ taskId }) => taskId));
    const listening = connection.request(
      'subscriptions/listen',
      { members: `"notifications":{"taskIds":${taskIds}}` },
      { background: true, capabilities: incoming.capabilities },
    );
    let isHeld = true;
    const release = () => {
      if (isHeld) supervisor.leases.release();
      isHeld = false;
    };
    // However it ends, the server is no longer kept running for it. The client is not notified; it
    // can still ask.
    listening.answer.catch(ignored).finally(release).catch(ignored);
    const stop = () => {
      listening.cancel(new Fault('cancelled', 'nobody listens any more', { server }));
      release();
    };
    return { granted: tasks.map((task) => ({ ...task, connection })), stop };
  } catch (error) {
    supervisor.leases.release();
    throw error;
  }
}
