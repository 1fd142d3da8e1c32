// Handles of tasks. A server's task id is a bearer handle that was given to us; a client gets its
// own for it, which is signed, bound to its owner, and the same every time, because clients compare
// handles. A modern handle names the server and its id and belongs to the principal; one of
// 2025-11-25 names a task that was begun here and belongs to the session that began it. Another
// client's handle, or an invented one, is not accepted.

import type { BegunTask } from '../../host/tasks/begun-task.ts';
import type { BegunTasks } from '../../host/tasks/begun-tasks.ts';
import type { Principal } from '../../policy/principal.ts';
import type { Incoming } from '../incoming.ts';
import type { Seal } from '../relay/seal.ts';

export interface TaskAddress {
  readonly server: string;
  readonly taskId: string;
}

export class TaskHandles {
  readonly #seal: Seal;

  constructor(seal: Seal) {
    this.#seal = seal;
  }

  // --- modern ------------------------------------------------------------------------------

  /** `SERVER.ID.SIGNATURE`, where the server's name and the signature hold no dot. */
  handleOf({ server, taskId }: TaskAddress, principal: Principal): string {
    const signature = this.#seal.sign('task', principal.id, server, taskId);
    return `${spelled(server)}.${taskId}.${signature}`;
  }

  ownerOf(handle: string, principal: Principal): TaskAddress | undefined {
    const parts = partsOf(handle);
    if (!parts) return undefined;
    const { server, middle: taskId, signature } = parts;
    const isOurs = this.#seal.isSigned(signature, 'task', principal.id, server, taskId);
    return isOurs ? { server, taskId } : undefined;
  }

  // --- of 2025-11-25 -----------------------------------------------------------------------

  /** `SERVER.NUMBER.SIGNATURE`: two connections of a server may use the same id. */
  sessionHandle(task: BegunTask): string {
    return `${spelled(task.server)}.${task.serial}.${this.#sessionSignature(task)}`;
  }

  #sessionSignature({ principal, client, server, serial }: BegunTask): string {
    return this.#seal.sign('session task', principal.id, client.key, server, String(serial));
  }

  /** The task, if it is this client's own and not forgotten. */
  taskOf(handle: string, { client }: Incoming, tasks: BegunTasks): BegunTask | undefined {
    const parts = partsOf(handle);
    const task = parts && tasks.get(Number(parts.middle));
    if (!task || task.client.key !== client.key || task.server !== parts.server) return undefined;
    return this.sessionHandle(task) === handle ? task : undefined;
  }
}

function spelled(server: string): string {
  return encodeURIComponent(server).replaceAll('.', '%2E');
}

function partsOf(handle: string) {
  const first = handle.indexOf('.');
  const last = handle.lastIndexOf('.');
  if (first < 0 || last <= first) return undefined;
  const server = decoded(handle.slice(0, first));
  const middle = handle.slice(first + 1, last);
  return server === undefined ? undefined : { server, middle, signature: handle.slice(last + 1) };
}

function decoded(name: string): string | undefined {
  try {
    return decodeURIComponent(name);
  } catch {
    // Not one of ours: ours are always well-formed.
    return undefined;
  }
}
