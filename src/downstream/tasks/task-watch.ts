// `taskIds` of `subscriptions/listen`: a modern client wants to hear what becomes of its tasks. Each
// server that has some of them is asked for the same, under its own ids, where the tasks were begun;
// what it says comes back by the news of tasks. Only tasks that are the client's own are granted.

import { ignored } from '../../kernel/contain.ts';
import { Fault } from '../../kernel/fault.ts';
import { authorize } from '../../policy/guard.ts';
import type { Connection } from '../../upstream/connection.ts';
import type { Gateway } from '../gateway.ts';
import type { Incoming } from '../incoming.ts';
import type { TaskOwner } from './task-handles.ts';

interface WishedTask extends TaskOwner {
  readonly handle: string;
}

export interface WatchedTask extends WishedTask {
  /** What is said of it comes from here: the same id may be another task elsewhere. */
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
): Promise<TaskWatch> {
  const byServer = new Map<string, WishedTask[]>();
  for (const handle of new Set(handles)) {
    const owner = gateway.handles.ownerOf(handle, incoming.principal);
    if (!owner) continue;
    byServer.set(owner.server, [...(byServer.get(owner.server) ?? []), { ...owner, handle }]);
  }
  const watching = [...byServer].map(async ([server, tasks]) => {
    // What cannot be watched is not granted; the client can still ask.
    const watch = await watchAt(gateway, incoming, server, tasks).catch(() => undefined);
    return watch ?? [];
  });
  const watched = (await Promise.all(watching)).flat();
  return {
    granted: watched.flatMap(({ granted }) => granted),
    stop: () => {
      for (const { stop } of watched) stop();
    },
  };
}

async function watchAt(
  { host }: Gateway,
  incoming: Incoming,
  name: string,
  tasks: readonly WishedTask[],
): Promise<TaskWatch> {
  authorize(host.guard, incoming.principal, name, null, 'subscribe', 'other');
  const server = host.find(name);
  const [first] = tasks;
  const seat =
    (first && host.tasks.find(name, first.taskId, incoming)?.place.seat) ??
    server.seats.for(incoming);
  const { supervisor } = seat;
  supervisor.leases.hold();
  try {
    const connection = supervisor.connection ?? (await supervisor.acquire());
    if (connection.era !== 'modern') throw new Fault('not_found', 'unknown task', { server: name });
    const taskIds = JSON.stringify(tasks.map(({ taskId }) => taskId));
    const listening = connection.request(
      'subscriptions/listen',
      { members: `"notifications":{"taskIds":${taskIds}}` },
      { background: true, capabilities: incoming.capabilities },
    );
    // Its end is no news: the client can still ask.
    listening.answer.catch(ignored);
    const stop = () => {
      listening.cancel(new Fault('cancelled', 'nobody listens any more', { server: name }));
      supervisor.leases.release();
    };
    return { granted: tasks.map((task) => ({ ...task, connection })), stop };
  } catch (error) {
    supervisor.leases.release();
    throw error;
  }
}
