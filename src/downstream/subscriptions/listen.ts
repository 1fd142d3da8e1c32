// Modern subscriptions: a request that stays open, on which its client gets the notifications it
// asked for, each marked with the request's own id. It begins with the granted subscriptions, and
// ends when the client closes it or we shut down.

import { announcedAs, type ListKind } from '../../host/lists/listings.ts';
import { isRecord } from '../../kernel/json-values.ts';
import type { Connection } from '../../upstream/connection.ts';
import { valueOf as parsed } from '../../wire/decode.ts';
import { envelopeKeys } from '../../wire/eras.ts';
import { notificationFrame } from '../../wire/frames.ts';
import { type MemberChanges, memberEdits } from '../../wire/member-edits.ts';
import { objectAt } from '../../wire/parts.ts';
import { splice } from '../../wire/splice.ts';
import type { Watched } from '../clients/legacy-session.ts';
import type { Incoming } from '../incoming.ts';
import type { TaskWatch, WatchedTask } from '../tasks/task-watch.ts';
import { isWithin } from './watched-address.ts';

export interface Wishes {
  readonly toolsListChanged: boolean;
  readonly promptsListChanged: boolean;
  readonly resourcesListChanged: boolean;
  readonly resourceSubscriptions: readonly string[];
  /** Handles of tasks. */
  readonly taskIds: readonly string[];
}

/** Undefined if it names no subscriptions. */
export function readWishes({ message }: Incoming): Wishes | undefined {
  const span = message.paramsObject?.find('notifications');
  const wishes = span && parsed(message.bytes, span);
  if (!isRecord(wishes)) return undefined;
  return {
    toolsListChanged: wishes['toolsListChanged'] === true,
    promptsListChanged: wishes['promptsListChanged'] === true,
    resourcesListChanged: wishes['resourcesListChanged'] === true,
    resourceSubscriptions: textsIn(wishes['resourceSubscriptions']),
    taskIds: textsIn(wishes['taskIds']),
  };
}

function textsIn(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.filter((one) => typeof one === 'string') : [];
}

/** A resource that is watched for it. */
export interface ListenedResource {
  /** Its address, as the client knows it. */
  readonly as: string;
  readonly watched: Watched;
}

/** What is watched at servers for one request that listens. */
export interface Watches {
  readonly resources: readonly ListenedResource[];
  readonly tasks: readonly TaskWatch[];
}

export class Listening {
  readonly incoming: Incoming;
  readonly wishes: Wishes;
  /** The mark of every message on it. */
  readonly #mark: string;

  /** What is watched at servers for it; no more than was granted. */
  #resources: readonly ListenedResource[];
  #tasks: readonly TaskWatch[];

  constructor(incoming: Incoming, wishes: Wishes, watches: Watches) {
    this.incoming = incoming;
    this.wishes = wishes;
    this.#resources = watches.resources;
    this.#tasks = watches.tasks;
    this.#mark = `{${JSON.stringify(envelopeKeys.subscriptionId)}:${incoming.id}}`;
  }

  acknowledge(): void {
    const { resourceSubscriptions, taskIds, ...lists } = this.wishes;
    const granted = {
      ...Object.fromEntries(Object.entries(lists).filter(([, isWished]) => isWished)),
      ...(resourceSubscriptions.length > 0 ? { resourceSubscriptions } : {}),
      ...(taskIds.length > 0 ? { taskIds } : {}),
    };
    const params = `{"notifications":${JSON.stringify(granted)},"_meta":${this.#mark}}`;
    this.incoming.send(notificationFrame('notifications/subscriptions/acknowledged', params));
  }

  listChanged(kind: ListKind): void {
    const list = announcedAs(kind);
    if (!this.wishes[`${list}ListChanged`]) return;
    const method = `notifications/${list}/list_changed`;
    this.incoming.send(notificationFrame(method, `{"_meta":${this.#mark}}`), method);
  }

  /** `params` is an object as the server wrote it, with the address as the client knows it. */
  updated(uri: string, params: Buffer): void {
    const isWatched = this.#resources.some(({ as }) => isWithin(uri, as));
    const object = objectAt(params, { start: 0, end: params.length });
    if (!isWatched || !object) return;
    const marked = splice(params, memberEdits(object, { _meta: this.#mark }));
    this.incoming.send(notificationFrame('notifications/resources/updated', marked));
  }

  /** Each resource may have changed while nobody listened. */
  tellOfAll(): void {
    for (const { as } of this.#resources) {
      const params = Buffer.from(JSON.stringify({ uri: as }));
      this.updated(as, params);
    }
  }

  /** The task of this connection, if it is watched here. */
  watchedTask(from: Connection, taskId: string): WatchedTask | undefined {
    return this.#tasks
      .flatMap(({ granted }) => granted)
      .find((one) => one.connection === from && one.taskId === taskId);
  }

  /** `shown` writes the server's message with the client's own handle and mark. */
  task({ handle }: WatchedTask, shown: (own: MemberChanges) => Buffer): void {
    const params = shown({ taskId: JSON.stringify(handle), _meta: this.#mark });
    this.incoming.send(notificationFrame('notifications/tasks', params));
  }

  /** Who may see what has changed: what may not be watched any more is given up at its server. */
  policyChanged(may: {
    readonly watch: (watched: Watched) => boolean;
    readonly follow: (watch: TaskWatch) => boolean;
  }): void {
    const [resources, tasks] = [this.#resources, this.#tasks];
    this.#resources = resources.filter((one) => may.watch(one.watched));
    this.#tasks = tasks.filter((one) => may.follow(one));
    for (const one of resources) if (!this.#resources.includes(one)) one.watched.stop();
    for (const one of tasks) if (!this.#tasks.includes(one)) one.stop();
  }

  /** Nobody listens any more. */
  stop(): void {
    this.policyChanged({ watch: () => false, follow: () => false });
  }

  /** We are shutting down: the client is told that this is the end, and may listen elsewhere. */
  end(): void {
    this.incoming.result(`{"resultType":"complete","_meta":${this.#mark}}`);
  }
}
