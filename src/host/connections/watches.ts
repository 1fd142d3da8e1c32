// Which client watches which resource of a server, and on which slot. A watch keeps the connection
// of one slot open; it is added to the client's other slots too, so that updates arrive wherever
// the client's calls go. A watch moves when its slot is assigned to another client, because that
// connection's messages are for its owner only, and when clients get other slots.

import type { Caller } from './caller.ts';
import type { ConnectionSlot } from './connection-slot.ts';

/** As much of a caller as says where its connections are. */
export type Watcher = Pick<Caller, 'client' | 'capabilities' | 'roots'>;

export interface Watch {
  readonly watcher: Watcher;
  readonly uri: string;
  /** Its connection is kept open for this watch; undefined when the server was removed. */
  slot: ConnectionSlot | undefined;
  /** The client's other slots: they watch while they are connected. */
  readonly others: Set<ConnectionSlot>;
}

export class Watches {
  /** By client, until the last watch of each ends; what one client may watch is bounded where it asks. */
  readonly #byClient = new Map<string, Set<Watch>>();

  /** The server on this slot has been asked; `own` are the slots of the client. */
  begin(
    watcher: Watcher,
    uri: string,
    slot: ConnectionSlot,
    own: readonly ConnectionSlot[],
  ): Watch {
    const { key } = watcher.client;
    const watch: Watch = { watcher, uri, slot, others: new Set() };
    const watches = this.#byClient.get(key) ?? new Set();
    this.#byClient.set(key, watches.add(watch));
    for (const other of own) watchOn(other, watch);
    return watch;
  }

  end(watch: Watch): void {
    const { watcher, uri, slot, others } = watch;
    const { key } = watcher.client;
    const watches = this.#byClient.get(key);
    if (!watches?.delete(watch)) return;
    if (watches.size === 0) this.#byClient.delete(key);
    slot?.subscriptions.unwatch(uri);
    for (const other of others) other.subscriptions.unwatchIfConnected(uri);
  }

  /** The client has one more slot of its own. */
  slotAdded(key: string, slot: ConnectionSlot): void {
    for (const watch of this.#byClient.get(key) ?? []) watchOn(slot, watch);
  }

  /** The watches on this slot that are of other clients than its owner. */
  foreignOn(slot: ConnectionSlot): readonly Watch[] {
    return this.#all().filter(
      (watch) => watch.slot === slot && watch.watcher.client.key !== slot.owner,
    );
  }

  #all(): readonly Watch[] {
    return [...this.#byClient.values()].flatMap((watches) => [...watches]);
  }

  /** It was confirmed before: the server of the other slot is not waited for. */
  move(watch: Watch, to: ConnectionSlot): void {
    const { uri, slot: from } = watch;
    if (to === from) return;
    watchOn(to, watch);
    watch.others.delete(to);
    watch.slot = to;
    to.subscriptions.hold();
    from?.subscriptions.unwatch(uri);
  }

  /** All clients have other slots from now on: each watch goes to the one that is its client's. */
  moveAll(slotFor: (watcher: Watcher) => ConnectionSlot): void {
    for (const watch of this.#all()) {
      for (const other of watch.others) other.subscriptions.unwatchIfConnected(watch.uri);
      watch.others.clear();
      if (watch.watcher.client.isGone) continue;
      this.move(watch, slotFor(watch.watcher));
    }
  }

  /** The server was removed: ending a watch must not keep anything of the server. */
  forgetAll(): void {
    for (const watch of this.#all()) {
      watch.slot = undefined;
      watch.others.clear();
    }
    this.#byClient.clear();
  }
}

function watchOn(slot: ConnectionSlot, { uri, slot: held, others }: Watch): void {
  if (slot === held || others.has(slot)) return;
  others.add(slot);
  slot.subscriptions.watchIfConnected(uri);
}
