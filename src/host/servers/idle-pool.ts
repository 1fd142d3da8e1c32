// How many idle connections are kept open. Each has its own keep-alive time; this is the limit over
// all of them: beyond it, second connections to the same server are closed first, then the one that
// was used longest ago. A connection in use is never closed.

import type { ConnectionSlot } from '../connections/connection-slot.ts';

export class IdlePool {
  #maxIdle: number;
  /** The connections of each server. */
  readonly #servers: () => Iterable<Iterable<ConnectionSlot>>;
  /** At most so many connections are open, in use or not; counted exactly when it matters. */
  #open = 0;

  constructor(maxIdle: number, servers: () => Iterable<Iterable<ConnectionSlot>>) {
    this.#maxIdle = maxIdle;
    this.#servers = servers;
  }

  /** Sets another limit; connections beyond it are closed. */
  limit(maxIdle: number): void {
    this.#maxIdle = maxIdle;
    this.settle();
  }

  /** A connection was made. */
  arrived(): void {
    this.#open += 1;
    this.settle();
  }

  /** A call has ended; there is nearly always room. */
  settle(): void {
    if (this.#open > this.#maxIdle) this.#evict();
  }

  #evict(): void {
    const servers = [...this.#servers()].map((slots) =>
      [...slots].filter(({ supervisor }) => supervisor.connection),
    );
    this.#open = servers.flat().length;
    const idle = servers.flatMap((connected) => idleOf(connected));
    idle.sort((a, b) => Number(b.isSecond) - Number(a.isSecond) || a.since - b.since);
    for (const { slot } of idle.slice(0, Math.max(0, idle.length - this.#maxIdle))) {
      slot.supervisor.evict();
    }
  }
}

interface Idle {
  readonly slot: ConnectionSlot;
  readonly since: number;
  /** Its server has another connection that is in use, or was used later. */
  readonly isSecond: boolean;
}

function idleOf(connected: readonly ConnectionSlot[]): readonly Idle[] {
  const idle = connected.filter(({ supervisor }) => !supervisor.leases.isWanted);
  const latest = idle.toSorted((a, b) => idleSince(b) - idleSince(a));
  const isOneInUse = idle.length < connected.length;
  return latest.map((slot, place) => {
    return { slot, since: idleSince(slot), isSecond: isOneInUse || place > 0 };
  });
}

function idleSince(slot: ConnectionSlot): number {
  return slot.supervisor.leases.idleSince ?? 0;
}
