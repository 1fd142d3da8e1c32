// Of a server that is always kept running, one connection is pinned: it is not stopped when nobody
// uses it. Which one that is changes when clients get other connections, and when the pinned one
// is no longer needed.

import type { ConnectionSlot } from './connection-slot.ts';
import type { SharedSlots } from './shared-slots.ts';

export class PinnedSlot {
  readonly #shared: SharedSlots;
  #isOn = false;

  constructor(shared: SharedSlots) {
    this.#shared = shared;
  }

  /** Whether one connection of the server is to be kept. */
  get isOn(): boolean {
    return this.#isOn;
  }

  /** Pins the current one, or unpins all. */
  set(isOn: boolean, all: Iterable<ConnectionSlot>, current: ConnectionSlot): void {
    this.#isOn = isOn;
    for (const slot of all) if (!isOn) slot.supervisor.leases.pin(false);
    if (isOn) current.supervisor.leases.pin(true);
  }

  /**
   * Where each client has its own, the one that was started with the host is unused: it ends. Of each
   * client one is kept, and not all: one that is kept is never opened again for other roots.
   */
  toOwn(own: ConnectionSlot, ofClient: readonly ConnectionSlot[]): void {
    if (!this.#isOn) return;
    const isKept = ofClient.some(({ supervisor }) => supervisor.leases.isPinned);
    if (!isKept) own.supervisor.leases.pin(true);
    for (const { supervisor } of this.#shared.open) {
      supervisor.leases.pin(false);
      supervisor.evict();
    }
  }

  /** No client has its own any more: one connection is still kept. */
  toShared(): void {
    const [first] = this.#shared.open;
    if (!first || !this.#isOn) return;
    first.supervisor.leases.pin(true);
    first.supervisor.want();
  }

  /** The pinned one is no longer needed: another one that is connected is kept instead. */
  moveFrom(slot: ConnectionSlot): void {
    if (!this.#isOn || !slot.supervisor.leases.isPinned) return;
    const stays = this.#shared.open.find(
      (other) => other !== slot && !other.isDuplicate && other.supervisor.connection,
    );
    if (!stays) return;
    stays.supervisor.leases.pin(true);
    slot.supervisor.leases.pin(false);
  }

  /**
   * There is no other one to keep: it ends when its calls have ended, and is started again for all
   * clients.
   */
  renew({ supervisor }: ConnectionSlot): void {
    const { leases } = supervisor;
    if (leases.held > 0) return;
    leases.pin(false);
    supervisor.evict();
    leases.pin(true);
  }
}
