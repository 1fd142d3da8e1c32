// Which client watches which resource of a server, and on which slot. A watch holds the connection of one
// slot; the client's other slots are told of it too, so that it is heard wherever the client's calls go. A
// watch moves when its slot becomes another client's own: what that connection says is for its owner alone.

import type { Caller } from './caller.ts';
import type { ConnectionSlot } from './connection-slot.ts';

/** As much of a caller as says where its connections are. */
export type Watcher = Pick<Caller, 'client' | 'capabilities'>;

export interface Watch {
  readonly watcher: Watcher;
  readonly uri: string;
  /** Its connection is held for this watch. */
  slot: ConnectionSlot;
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
    for (const other of own) wishOn(other, watch);
    return watch;
  }

  end(watch: Watch): void {
    const { watcher, uri, slot, others } = watch;
    const { key } = watcher.client;
    const watches = this.#byClient.get(key);
    if (!watches?.delete(watch)) return;
    if (watches.size === 0) this.#byClient.delete(key);
    slot.subscriptions.unwatch(uri);
    for (const other of others) other.subscriptions.unwish(uri);
  }

  /** The client has one more slot of its own. */
  slotAdded(key: string, slot: ConnectionSlot): void {
    for (const watch of this.#byClient.get(key) ?? []) wishOn(slot, watch);
  }

  /** The watches on this slot that are of other clients than its owner. */
  foreignOn(slot: ConnectionSlot): readonly Watch[] {
    const all = [...this.#byClient.values()].flatMap((watches) => [...watches]);
    return all.filter((watch) => watch.slot === slot && watch.watcher.client.key !== slot.owner);
  }

  /** It was confirmed before: nobody waits for the server of the other slot to say so again. */
  move(watch: Watch, to: ConnectionSlot): void {
    const { uri, slot: from } = watch;
    wishOn(to, watch);
    watch.others.delete(to);
    watch.slot = to;
    to.subscriptions.hold();
    from.subscriptions.unwatch(uri);
  }
}

function wishOn(slot: ConnectionSlot, { uri, slot: held, others }: Watch): void {
  if (slot === held || others.has(slot)) return;
  others.add(slot);
  slot.subscriptions.wish(uri);
}
