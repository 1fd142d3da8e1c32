// The store of each mailbox (`store-claim.ts`) at the hub: which it is, how many links use it, and since when none does.
// The claims are kept over a restart of the broker, and count from its start then.

import { ignored } from '../../kernel/contain.ts';
import type { Records } from '../../store/contract/records.ts';
import { mayClaim, otherStore, storeAwayMs } from '../store-claim.ts';

interface Claimed {
  readonly store: string;
  seenAt: number;
  links: number;
}

export class MailboxStores {
  readonly #records: Records | undefined;
  readonly #now: () => number;
  /** By mailbox, until its links have been away for `storeAwayMs`; at most one for each mailbox with a credential. */
  readonly #claims = new Map<string, Claimed>();

  /** `now`: monotonic. */
  constructor(records: Records | undefined, now: () => number) {
    this.#records = records;
    this.#now = now;
  }

  /** What an earlier process has kept. Rejects with a StoreError. */
  async load(): Promise<void> {
    for (const { key, value } of (await this.#records?.entries()) ?? []) {
      const seenAt = this.#now();
      if (typeof value === 'string') this.#claims.set(key, { store: value, seenAt, links: 0 });
    }
  }

  /** Throws a BrokerError if the mailbox is for another store now. */
  assertSame(mailbox: string, store: string | undefined): void {
    const claim = this.#claims.get(mailbox);
    if (store === undefined || claim === undefined) return;
    const seenAt = claim.links > 0 ? this.#now() : claim.seenAt;
    if (!mayClaim({ store: claim.store, seenAt }, store, this.#now())) throw otherStore();
  }

  joined(mailbox: string, store: string | undefined): void {
    if (store === undefined) return;
    const before = this.#claims.get(mailbox);
    if (before?.store === store) {
      before.links += 1;
      return;
    }
    this.#claims.set(mailbox, { store, seenAt: this.#now(), links: 1 });
    // It is written before any letter that comes after it; a disk that refuses is known from those.
    this.#records?.put(mailbox, store).catch(ignored);
  }

  left(mailbox: string, store: string | undefined): void {
    const claim = this.#claims.get(mailbox);
    if (claim === undefined || claim.store !== store) return;
    claim.links -= 1;
    claim.seenAt = this.#now();
  }

  /** Claims that keep nobody away need no place. */
  forgetOld(): void {
    for (const [mailbox, { links, seenAt }] of this.#claims) {
      if (links > 0 || this.#now() - seenAt < storeAwayMs) continue;
      this.#claims.delete(mailbox);
      this.#records?.remove(mailbox).catch(ignored);
    }
  }
}
