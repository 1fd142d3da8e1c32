// The shelves of all mailboxes: one for each kind of mail. How many kinds a mailbox has is bounded twice, for those
// that it reads and for the others, so that nobody can take the place of a kind that it reads.

import { BrokerError } from '../broker-error.ts';
import type { HubLimits } from './limits.ts';
import { Shelf, type ShelfOptions } from './shelf.ts';

export interface ShelvesOptions extends ShelfOptions {
  readonly limits: HubLimits;
  /** Whether somebody has this mailbox, by the present credentials. */
  readonly isOwned: (mailbox: string) => boolean;
}

export class Shelves {
  readonly #options: ShelvesOptions;
  /** By mailbox and kind; at most twice `maxKinds` for each mailbox with a credential. */
  readonly #shelves = new Map<string, Map<string, Shelf>>();

  constructor(options: ShelvesOptions) {
    this.#options = options;
  }

  /**
   * For a reader there is always room among those that the mailbox reads, whatever others have sent. Throws a
   * BrokerError.
   */
  get(mailbox: string, kind: string, isForReader = false): Shelf {
    const known = this.#shelves.get(mailbox)?.get(kind);
    if (known !== undefined && (known.hadReader || !isForReader)) return known;
    const { maxKinds } = this.#options.limits;
    if (this.#kinds(mailbox, isForReader) >= maxKinds) this.tidy(mailbox);
    if (this.#kinds(mailbox, isForReader) >= maxKinds) {
      throw new BrokerError('full', `the mailbox ${mailbox} has ${maxKinds} kinds of mail`);
    }
    return known ?? this.#newShelf(mailbox, kind);
  }

  /** For what an earlier process has taken: it is kept, also if the limits are others now. */
  getAnyway(mailbox: string, kind: string): Shelf {
    return this.#shelves.get(mailbox)?.get(kind) ?? this.#newShelf(mailbox, kind);
  }

  /** A reader has left: what it had waits for the next. */
  leave(mailbox: string, seat: string): void {
    for (const shelf of this.#shelves.get(mailbox)?.values() ?? []) shelf.leave(seat);
    this.tidy(mailbox);
  }

  /** What waits may be handed out now, for another reason than a reader with room. */
  handOut(): void {
    for (const shelves of this.#shelves.values()) {
      for (const shelf of shelves.values()) shelf.handOut();
    }
  }

  /** Waiting letters whose time is over are removed. */
  expire(): void {
    for (const [mailbox, shelves] of this.#shelves) {
      for (const shelf of shelves.values()) shelf.expire();
      this.tidy(mailbox);
    }
  }

  /** Empty shelves need no place, but those that a mailbox reads keep theirs while its link is away. */
  tidy(mailbox: string): void {
    const shelves = this.#shelves.get(mailbox);
    const isOwned = this.#options.isOwned(mailbox);
    for (const [kind, shelf] of shelves ?? []) {
      if (shelf.isEmpty && !(shelf.hadReader && isOwned)) shelves?.delete(kind);
    }
    if (shelves?.size === 0) this.#shelves.delete(mailbox);
  }

  #newShelf(mailbox: string, kind: string): Shelf {
    const shelf = new Shelf(this.#options);
    const shelves = this.#shelves.get(mailbox) ?? new Map<string, Shelf>();
    this.#shelves.set(mailbox, shelves.set(kind, shelf));
    return shelf;
  }

  /** How many it has: of those that it reads, or of the others. */
  #kinds(mailbox: string, areRead: boolean): number {
    const shelves = [...(this.#shelves.get(mailbox)?.values() ?? [])];
    return shelves.filter(({ hadReader }) => hadReader === areRead).length;
  }
}
