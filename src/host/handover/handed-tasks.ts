// Tasks that clients have begun, as they pass from one serving process to the next: those that are known at the fence, and
// those that calls of the former become afterwards, which it tells over the link. Each is one of a connection, which is
// known by its number, and waits here until that is in use.

import type { StoreLink } from '../../store/remote/store-link.ts';
import type { Connection } from '../../upstream/connection.ts';
import type { Place, WrittenTask } from '../tasks/begun-task.ts';
import type { BegunTasks } from '../tasks/begun-tasks.ts';
import { taskFrom } from './host-state.ts';
import type { RestoredClients } from './restored-clients.ts';

const kind = 'tasks';
/** The former numbers on for the calls that it ends: a handle must not name two tasks. */
const numbersOfFormer = 1_000_000;

/** At the former, from the fence on: what becomes a task later is told to the next process. */
export function giveLaterTasks(
  tasks: BegunTasks,
  numberOf: (connection: Connection) => number | undefined,
  link: StoreLink,
): void {
  tasks.giveLater(numberOf, (task) =>
    link.send(kind, { task: { ...task, principal: { ...task.principal } } }),
  );
}

export interface HandedTasksParts {
  readonly tasks: BegunTasks;
  readonly restoredClients: RestoredClients;
}

/** At the next process. */
export class HandedTasks {
  readonly #parts: HandedTasksParts;
  /** By the numbers of their connections, until these are in use; as many as the former has. */
  readonly #waiting = new Map<number, readonly WrittenTask[]>();
  /** By number, each as long as this process. */
  readonly #places = new Map<number, Place>();

  constructor(
    parts: HandedTasksParts,
    { next, begun }: { readonly next: number; readonly begun: readonly WrittenTask[] },
    link: StoreLink | undefined,
  ) {
    this.#parts = parts;
    const { tasks } = parts;
    tasks.next = Math.max(tasks.next, next + numbersOfFormer);
    for (const task of begun) this.#begun(task);
    link?.on(kind, (head) => this.#begun(taskFrom(head)));
  }

  /** The connection of this number is in use here. */
  adopted(number: number, place: Place): void {
    this.#places.set(number, place);
    const waiting = this.#waiting.get(number) ?? [];
    this.#waiting.delete(number);
    for (const task of waiting) this.#restore(task, place);
  }

  #begun(task: WrittenTask): void {
    const { connection } = task;
    const place = this.#places.get(connection);
    if (place !== undefined) this.#restore(task, place);
    else this.#waiting.set(connection, [...(this.#waiting.get(connection) ?? []), task]);
  }

  #restore(task: WrittenTask, place: Place): void {
    const { tasks, restoredClients } = this.#parts;
    tasks.restore(task, place, restoredClients.of(task.client));
  }
}
