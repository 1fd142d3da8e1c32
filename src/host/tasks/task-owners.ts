// Which client owns the tasks of a connection. One id may have several owners for a while: a client
// that has begun a task, and callers whose calls the host follows as one, because a server may use
// an id again. Each removes only its own entry; the latest is the one that the server means.

import type { Connection } from '../../upstream/connection.ts';
import type { Caller, Client } from '../connections/caller.ts';

export interface TaskOwner {
  readonly client: Client;
  /** Of the call that the host follows; undefined for a task that the client itself has begun. */
  readonly caller?: Caller;
}

export class TaskOwners {
  /** Of each connection as many as it has begun and followed tasks; gone with those, or with the connection. */
  readonly #owners = new WeakMap<Connection, Map<string, readonly TaskOwner[]>>();

  add(connection: Connection, taskId: string, owner: TaskOwner): void {
    const owners = this.#owners.get(connection) ?? new Map<string, readonly TaskOwner[]>();
    this.#owners.set(connection, owners);
    owners.set(taskId, [...(owners.get(taskId) ?? []), owner]);
  }

  remove(connection: Connection, taskId: string, owner: TaskOwner): void {
    const owners = this.#owners.get(connection);
    const left = owners?.get(taskId)?.filter((other) => other !== owner) ?? [];
    if (left.length > 0) owners?.set(taskId, left);
    else owners?.delete(taskId);
  }

  of(connection: Connection, taskId: string): TaskOwner | undefined {
    return this.#owners.get(connection)?.get(taskId)?.at(-1);
  }

  lost(connection: Connection): void {
    this.#owners.delete(connection);
  }
}
