// Watching the resources of a server: a client's watch is on the connection that its calls use, and
// moves with them. `watches.ts` has who watches what; this file decides on which slot.

import { Fault } from '../../kernel/fault.ts';
import type { Caller } from './caller.ts';
import type { Aim, ConnectionSlot } from './connection-slot.ts';
import type { Isolation } from './isolation.ts';
import type { OwnSlots } from './own-slots.ts';
import { type Watch, type Watcher, Watches } from './watches.ts';

export interface WatchingParts {
  readonly isolation: Isolation;
  readonly own: OwnSlots;
  /** Where the calls of this client go, if it has no connection of its own. */
  readonly slotFor: (watcher: Watcher) => ConnectionSlot;
  readonly aimOf: (watcher: Watcher) => Aim;
  readonly isTaken: (slot: ConnectionSlot, caller: Caller) => boolean;
  /** The fault for callers once the server has ended. */
  readonly ended: () => Fault | undefined;
}

export class Watching {
  readonly #parts: WatchingParts;
  readonly #watches = new Watches();

  constructor(parts: WatchingParts) {
    this.#parts = parts;
  }

  /**
   * Watches a resource for a client, on the connection its calls use, and on every connection it
   * will have. Calling the result ends it. Rejects with the server's own error, or a Fault.
   */
  async watch(caller: Caller, uri: string): Promise<() => void> {
    const { client, capabilities } = caller;
    const { isolation, own, isTaken, ended } = this.#parts;
    if (client.isGone) throw new Fault('cancelled', 'the client has disconnected');
    throwIfEnded(ended());
    const { mode } = isolation;
    const slot = this.#slotOf(caller);
    try {
      await slot.subscriptions.watch(uri);
    } catch (error) {
      if (slot.isRetired && !ended()) return this.watch(caller, uri);
      throw error;
    }
    const refusal = ended();
    if (refusal) {
      slot.subscriptions.unwatch(uri);
      throw refusal;
    }
    const watches = this.#watches;
    const watch = watches.begin({ client, capabilities }, uri, slot, own.of(client.key));
    // While the server was asked, clients may have been given other connections.
    const isRegrouped = slot.isRetired || mode !== isolation.mode;
    if (isRegrouped) this.#move(watch, (watcher) => this.#slotOf(watcher));
    // Or it may have become another client's.
    else if (isTaken(slot, caller)) this.#move(watch, (watcher) => this.#ownOf(watcher));
    return () => watches.end(watch);
  }

  /** The client has one more slot of its own. */
  slotAdded(key: string, slot: ConnectionSlot): void {
    this.#watches.slotAdded(key, slot);
  }

  /** These are now reserved for their clients: what others watch there is moved. */
  adopted(slots: readonly ConnectionSlot[]): void {
    for (const slot of slots) this.#watches.slotAdded(slot.owner ?? '', slot);
    for (const slot of slots) {
      for (const watch of this.#watches.foreignOn(slot)) {
        this.#move(watch, (watcher) => this.#ownOf(watcher));
      }
    }
  }

  /** All clients have other slots from now on. */
  regrouped(): void {
    this.#watches.moveAll((watcher) => this.#slotOf(watcher));
  }

  /** The server was removed. */
  forgetAll(): void {
    this.#watches.forgetAll();
  }

  #slotOf(watcher: Watcher): ConnectionSlot {
    const { isolation, aimOf, slotFor } = this.#parts;
    return isolation.isApart(aimOf(watcher).era) ? this.#ownOf(watcher) : slotFor(watcher);
  }

  #ownOf(watcher: Watcher): ConnectionSlot {
    return this.#parts.own.firstOf(watcher.client, this.#parts.aimOf(watcher));
  }

  /** The watches of a disconnected client, or of a server that has ended, end where they are. */
  #move(watch: Watch, slotFor: (watcher: Watcher) => ConnectionSlot): void {
    const { watcher } = watch;
    if (this.#parts.ended() || watcher.client.isGone) return;
    this.#watches.move(watch, slotFor(watcher));
  }
}

function throwIfEnded(refusal: Fault | undefined): void {
  if (refusal) throw refusal;
}
