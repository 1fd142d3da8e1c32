// How many bytes of request bodies are being received, over all connections: a client that sends many large
// bodies and finishes none must not fill the memory. A body takes its declared length before it is read, or
// what has come of it if its length is not declared, and gives it back when it is complete or refused, or
// its connection is closed. A remote owner has its share of the whole; a single body is never beyond the share.

import { OwnerCounts, shareOf } from '../../kernel/owner-counts.ts';

/** Why there is no room: the owner has its share, or all have everything. */
export type NoRoom = 'owner' | 'all';

export class BodyBudget {
  readonly #total: number;
  #bytes = 0;
  /** Bytes of those that have a share. */
  readonly #counts = new OwnerCounts();

  constructor(total: number) {
    this.#total = total;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** A body begins; undefined: of somebody without a share. */
  open(owner: string | undefined): BodyRoom {
    return new BodyRoom(this, owner);
  }

  take(owner: string | undefined, bytes: number): NoRoom | undefined {
    if (owner !== undefined) {
      const own = this.#counts.of(owner);
      if (own > 0 && own + bytes > shareOf(this.#total)) return 'owner';
    }
    if (this.#bytes > 0 && this.#bytes + bytes > this.#total) return 'all';
    this.#bytes += bytes;
    if (owner !== undefined && bytes > 0) this.#counts.add(owner, bytes);
    return undefined;
  }

  giveBack(owner: string | undefined, bytes: number): void {
    this.#bytes -= bytes;
    if (owner !== undefined && bytes > 0) this.#counts.remove(owner, bytes);
  }
}

/** What one body takes. */
export class BodyRoom {
  readonly #budget: BodyBudget;
  readonly #owner: string | undefined;
  #bytes = 0;

  constructor(budget: BodyBudget, owner: string | undefined) {
    this.#budget = budget;
    this.#owner = owner;
  }

  /** Takes more; if there is no room, nothing changes. */
  take(bytes: number): NoRoom | undefined {
    const refusal = this.#budget.take(this.#owner, bytes);
    if (refusal === undefined) this.#bytes += bytes;
    return refusal;
  }

  /** May be called again. */
  end(): void {
    this.#budget.giveBack(this.#owner, this.#bytes);
    this.#bytes = 0;
  }
}
