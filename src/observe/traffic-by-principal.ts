// The traffic of each principal, counted beside that of all: what somebody who is no operator is told is only its
// own. Of a bounded number of principals, the latest; one that comes back after others begins at zero.

import type { Clock } from '../kernel/clock.ts';
import { Traffic, type WrittenTraffic } from './traffic.ts';

const maxPrincipals = 256;
/** Tools and methods of one that are counted by name. */
const maxOperations = 100;

interface Own {
  readonly traffic: Traffic;
  lastUsed: number;
}

export class TrafficByPrincipal {
  readonly #clock: Clock;
  /** By id; at most `maxPrincipals`, the one that was used longest ago goes first. */
  readonly #own = new Map<string, Own>();
  #uses = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Of the principal with this id, which is in use. */
  of(id: string): Traffic {
    const own = this.#own.get(id) ?? this.#add(id);
    this.#uses += 1;
    own.lastUsed = this.#uses;
    return own.traffic;
  }

  /** All that was counted so far, for another process, the one that was used longest ago first: here the count begins again. */
  take(): readonly (readonly [id: string, traffic: WrittenTraffic])[] {
    const byUse = [...this.#own].sort(([, a], [, b]) => a.lastUsed - b.lastUsed);
    return byUse.map(([id, { traffic }]) => [id, traffic.take()] as const);
  }

  #add(id: string): Own {
    if (this.#own.size >= maxPrincipals) this.#forgetOldest();
    const own = { traffic: new Traffic(this.#clock, maxOperations), lastUsed: 0 };
    this.#own.set(id, own);
    return own;
  }

  #forgetOldest(): void {
    let oldest: string | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const [id, { lastUsed }] of this.#own) {
      if (lastUsed >= least) continue;
      oldest = id;
      least = lastUsed;
    }
    if (oldest !== undefined) this.#own.delete(oldest);
  }

  /** How many are counted, for the test of what is not kept. */
  get size(): number {
    return this.#own.size;
  }

  /** As in Traffic. */
  serverGone(server: string): void {
    for (const { traffic } of this.#own.values()) traffic.serverGone(server);
  }
}
