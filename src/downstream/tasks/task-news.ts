// Forwards notifications of servers about tasks: to the owner of a task of 2025-11-25 in its
// session, to subscribers of a modern one, and to nobody else. The server's id and token are
// replaced by the client's own.

import type { TaskNews } from '../../host/tasks/begun-task.ts';
import type { Principal } from '../../policy/principal.ts';
import { notificationFrame } from '../../wire/frames.ts';
import { memberEdits } from '../../wire/member-edits.ts';
import { oneLine, splice } from '../../wire/splice.ts';
import type { LegacySession } from '../clients/legacy-session.ts';
import type { Gateway } from '../gateway.ts';
import type { Listening } from '../subscriptions/listen.ts';
import type { KnownTasks } from './related-task.ts';

export function tellOfTask(
  gateway: Gateway,
  news: TaskNews,
  sessions: Iterable<LegacySession>,
  listenings: Iterable<Listening>,
): void {
  const { task, message, taskId, from, server } = news;
  const { method = '', paramsObject, bytes } = message;
  if (!paramsObject) return;
  const { start, end } = paramsObject;
  const shown = (changes: Parameters<typeof memberEdits>[1]) => {
    const edits = memberEdits(paramsObject, changes).map((edit) => ({
      start: edit.start - start,
      end: edit.end - start,
      with: edit.with,
    }));
    return oneLine(splice(bytes.subarray(start, end), edits));
  };
  const mayHear = (principal: Principal, name: string | null) => {
    const request = { action: 'task', server, kind: 'tool', name, method: null } as const;
    return gateway.host.access.isAllowed(principal, request);
  };
  if (method === 'notifications/tasks') {
    for (const listening of listenings) {
      const watched = listening.watchedTask(from, taskId);
      if (watched === undefined) continue;
      if (mayHear(listening.incoming.principal, watched.tool)) listening.task(watched, shown);
    }
    return;
  }
  if (task?.era !== 'legacy' || !mayHear(task.principal, task.tool)) return;
  const { progressToken = '0' } = task;
  const own =
    method === 'notifications/progress'
      ? { progressToken }
      : { taskId: JSON.stringify(gateway.handles.sessionHandle(task)) };
  // A client without a stream of its own gets it with its next request about the task.
  const caller = [...task.asking].at(-1);
  for (const session of sessions) {
    if (session.key === task.client.key) session.say(notificationFrame(method, shown(own)), caller);
  }
}

/** The tasks that this client has begun at this server, by the ids of both sides. */
export function knownTasks({ host, handles }: Gateway, server: string, key: string): KnownTasks {
  const own = () => host.tasks.ofClient(key).filter((task) => task.server === server);
  return {
    handleOf: (taskId) => {
      const task = own().find((one) => one.taskId === taskId);
      return task && handles.sessionHandle(task);
    },
    idOf: (handle) => own().find((one) => handles.sessionHandle(one) === handle)?.taskId,
  };
}
