// Handles of tasks. A server's task id is a bearer handle that was given to us; a client gets its
// own for it, which it cannot read, which is bound to its owner, and the same every time, because clients
// compare handles. A modern handle stands for the server, its id and the tool that began the task, and belongs
// to the principal: who may use a task is decided by its tool, also when nothing else is known of it. It names the
// replica, too, where only that one can reach the server. One of
// 2025-11-25 stands for a task that was begun here and belongs to the session that began it. Another
// client's handle, an invented one, or one that names no tool is not accepted.

import type { BegunTask } from '../../host/tasks/begun-task.ts';
import type { BegunTasks } from '../../host/tasks/begun-tasks.ts';
import type { Principal } from '../../policy/principal.ts';
import type { Incoming } from '../incoming.ts';
import type { Seal } from '../relay/seal.ts';

export interface TaskAddress {
  readonly server: string;
  readonly taskId: string;
  /** The tool whose call became the task. */
  readonly tool: string;
  /** The replica that alone can reach this server. */
  readonly at?: string | undefined;
}

type HiddenAddress = [server: string, taskId: string, tool?: string, at?: string];

export class TaskHandles {
  readonly #seal: Seal;
  readonly #replicaOf: (server: string) => string | undefined;

  /** `replicaOf` is this replica for a server that no other can reach; absent: there is only one. */
  constructor(seal: Seal, replicaOf: (server: string) => string | undefined = () => undefined) {
    this.#seal = seal;
    this.#replicaOf = replicaOf;
  }

  // --- modern ------------------------------------------------------------------------------

  handleOf({ server, taskId, tool }: TaskAddress, principal: Principal): string {
    const at = this.#replicaOf(server);
    const parts = at === undefined ? [server, taskId, tool] : [server, taskId, tool, at];
    return this.#seal.names.hide(['task', principal.id], JSON.stringify(parts));
  }

  ownerOf(handle: string, principal: Principal): TaskAddress | undefined {
    const text = this.#seal.names.read(['task', principal.id], handle);
    if (text === undefined) return undefined;
    const [server, taskId, tool, at] = JSON.parse(text) as HiddenAddress;
    if (tool === undefined) return undefined;
    return at === undefined ? { server, taskId, tool } : { server, taskId, tool, at };
  }

  // --- of 2025-11-25 -----------------------------------------------------------------------

  /** By a number of ours: two connections of a server may use the same id. */
  sessionHandle({ principal, client, server, serial }: BegunTask): string {
    const text = JSON.stringify([server, serial]);
    return this.#seal.names.hide(sessionPurpose(principal, client.key), text);
  }

  /** The task, if it is this client's own and not forgotten. */
  taskOf(
    handle: string,
    { client, principal }: Incoming,
    tasks: BegunTasks,
  ): BegunTask | undefined {
    const text = this.#seal.names.read(sessionPurpose(principal, client.key), handle);
    if (text === undefined) return undefined;
    const [server, serial] = JSON.parse(text) as [string, number];
    const task = tasks.get(serial);
    return task?.client.key === client.key && task.server === server ? task : undefined;
  }
}

function sessionPurpose({ id }: Principal, client: string): readonly string[] {
  return ['session task', id, client];
}
