// How many connections nobody uses are kept open. Each has its own keep-alive time; this is the
// bound over all of them together: beyond it, the one that was used longest ago goes first. One
// that is in use is never touched.

import type { Seat } from './seat.ts';

export class IdlePool {
  readonly #maxIdle: number;
  readonly #seats: () => Iterable<Seat>;
  /** At most so many connections are open, in use or not; counted exactly when it matters. */
  #open = 0;

  constructor(maxIdle: number, seats: () => Iterable<Seat>) {
    this.#maxIdle = maxIdle;
    this.#seats = seats;
  }

  /** A connection was made. */
  arrived(): void {
    this.#open += 1;
    this.settle();
  }

  /** A call has ended; nearly always there is room. */
  settle(): void {
    if (this.#open > this.#maxIdle) this.#evict();
  }

  #evict(): void {
    const connected = [...this.#seats()].filter(({ supervisor }) => supervisor.connection);
    this.#open = connected.length;
    const idle = connected.filter(({ supervisor }) => !supervisor.leases.isWanted);
    idle.sort((a, b) => idleSince(a) - idleSince(b));
    for (const seat of idle.slice(0, Math.max(0, idle.length - this.#maxIdle))) {
      seat.supervisor.evict();
    }
  }
}

function idleSince(seat: Seat): number {
  return seat.supervisor.leases.idleSince ?? 0;
}
