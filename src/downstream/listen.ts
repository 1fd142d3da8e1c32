// Modern subscriptions: a request that stays open, on which its client hears what it asked for, each
// message marked with the request's own id. It begins with what of the wishes is granted, and ends
// when the client closes it or we go down.

import type { ListKind } from '../host/listings.ts';
import { valueOf as parsed } from '../wire/decode.ts';
import { envelopeKeys } from '../wire/eras.ts';
import { memberEdits } from '../wire/member-edits.ts';
import { objectAt } from '../wire/parts.ts';
import { splice } from '../wire/splice.ts';
import { notificationFrame } from './frames.ts';
import type { Incoming } from './incoming.ts';
import { isWithin } from './watched-address.ts';

export interface Wishes {
  readonly toolsListChanged: boolean;
  readonly promptsListChanged: boolean;
  readonly resourcesListChanged: boolean;
  readonly resourceSubscriptions: readonly string[];
}

/** Undefined if it does not say what is wished. */
export function readWishes({ message }: Incoming): Wishes | undefined {
  const span = message.paramsObject?.find('notifications');
  const filter = span && parsed(message.bytes, span);
  if (typeof filter !== 'object' || filter === null || Array.isArray(filter)) return undefined;
  const wishes = filter as Readonly<Record<string, unknown>>;
  const uris = wishes['resourceSubscriptions'];
  return {
    toolsListChanged: wishes['toolsListChanged'] === true,
    promptsListChanged: wishes['promptsListChanged'] === true,
    resourcesListChanged: wishes['resourcesListChanged'] === true,
    resourceSubscriptions: Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string') : [],
  };
}

export class Listening {
  readonly incoming: Incoming;
  readonly wishes: Wishes;
  /** The mark of everything that is said here. */
  readonly #mark: string;

  constructor(incoming: Incoming, wishes: Wishes) {
    this.incoming = incoming;
    this.wishes = wishes;
    this.#mark = `{${JSON.stringify(envelopeKeys.subscriptionId)}:${incoming.id}}`;
  }

  acknowledge(): void {
    const { resourceSubscriptions, ...lists } = this.wishes;
    const granted = {
      ...Object.fromEntries(Object.entries(lists).filter(([, isWished]) => isWished)),
      ...(resourceSubscriptions.length > 0 ? { resourceSubscriptions } : {}),
    };
    const params = `{"notifications":${JSON.stringify(granted)},"_meta":${this.#mark}}`;
    this.incoming.send(notificationFrame('notifications/subscriptions/acknowledged', params));
  }

  listChanged(kind: ListKind): void {
    const list = kind === 'resourceTemplates' ? 'resources' : kind;
    if (!this.wishes[`${list}ListChanged`]) return;
    const method = `notifications/${list}/list_changed`;
    this.incoming.send(notificationFrame(method, `{"_meta":${this.#mark}}`), method);
  }

  /** `params` is an object as the server wrote it, with the address as the client knows it. */
  updated(uri: string, params: Buffer): void {
    const isWatched = this.wishes.resourceSubscriptions.some((watched) => isWithin(uri, watched));
    const object = objectAt(params, { start: 0, end: params.length });
    if (!isWatched || !object) return;
    const marked = splice(params, memberEdits(object, { _meta: this.#mark }));
    this.incoming.send(notificationFrame('notifications/resources/updated', marked));
  }

  /** We go down: the client is told that this is the end, and may listen elsewhere. */
  end(): void {
    this.incoming.result(`{"resultType":"complete","_meta":${this.#mark}}`);
  }
}
